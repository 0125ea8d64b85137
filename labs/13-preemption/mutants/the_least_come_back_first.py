"""The least important come back first, and the most important has to go."""

KILLED_BY = "evicts-no-more-than-needed"
CAUSE = "least-first"
CHANGES = (
    (
        "for one in breaking + others:",
        "for one in breaking + others[::-1]:",
    ),
)
