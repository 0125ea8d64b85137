"""notify hands new events also to a watch that has not been given the past yet."""

KILLED_BY = "no-seam"
CAUSE = "lost"
CHANGES = (
    (
        " or watcher.is_behind or",
        " or",
    ),
)
