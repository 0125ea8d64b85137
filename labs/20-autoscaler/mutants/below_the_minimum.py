"""The minimum is not asked."""

KILLED_BY = "waits-its-time"
CAUSE = "min"
CHANGES = (
    (
        " and left[group] > 0",
        "",
    ),
)
