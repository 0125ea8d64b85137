"""No timer: the node goes, and the next wave of Pods buys it again."""

KILLED_BY = "waits-its-time"
CAUSE = "at-once"
CHANGES = (
    (
        " - since[name] > 600 and",
        " >= since[name] and",
    ),
)
