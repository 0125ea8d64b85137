"""Ascending instead of descending."""

KILLED_BY = "knows-who-matters"
CAUSE = "least-first"
CHANGES = (
    (
        '(-pod["priority"], pod["started"])',
        '(pod["priority"], pod["started"])',
    ),
)
