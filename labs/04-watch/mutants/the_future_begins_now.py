"""A watch of the future is handed what comes before its start."""

KILLED_BY = "from-now-on"
CAUSE = "before-its-start"
CHANGES = (
    (
        "start or newest + 1",
        "min(start or newest + 1, newest + 1)",
    ),
)
