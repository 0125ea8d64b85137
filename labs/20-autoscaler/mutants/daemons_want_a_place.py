"""Daemons have to move too: a full cluster keeps its empty nodes."""

KILLED_BY = "finds-a-place"
CAUSE = "daemons"
CHANGES = (
    (
        ' if not pod["daemon"]]',
        "]",
    ),
)
