"""A watch from 0 is fed with the whole history."""

KILLED_BY = "tells-what-happens"
CAUSE = "not-told"
CHANGES = (
    (
        "start or newest + 1",
        "start",
    ),
)
