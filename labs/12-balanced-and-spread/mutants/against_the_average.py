"""The domain is compared with the average: one crowded zone lets all others grow."""

KILLED_BY = "keeps-the-skew"
CAUSE = "mean"
CHANGES = (
    (
        "least = min(counts.values()) if",
        "least = sum(counts.values()) // len(counts) if",
    ),
)
