"""The age stands in the code, whatever the profile says."""

KILLED_BY = "the-arguments-decide"
CAUSE = "age-limit-rejected"
CHANGES = (
    (
        'args.get("maxMetricAgeSeconds", 15) * 1000',
        "15 * 1000",
    ),
)
