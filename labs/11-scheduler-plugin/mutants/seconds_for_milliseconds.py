"""Seconds are compared with milliseconds: after 16 ms nothing counts any more."""

KILLED_BY = "old-reports-do-not-count"
CAUSE = "young-rejected"
CHANGES = (
    (
        'args.get("maxMetricAgeSeconds", 15) * 1000',
        'args.get("maxMetricAgeSeconds", 15)',
    ),
)
