"""A watch from a revision is handed what comes after it."""

KILLED_BY = "replays-the-past"
CAUSE = "lost"
CHANGES = (
    (
        "start or newest + 1",
        "(start or newest) + 1",
    ),
)
