"""The Pod that is asked for is counted twice: all but one are enough."""

KILLED_BY = "nobody-goes-early"
CAUSE = "early"
CHANGES = (
    (
        "        if self.count(gang) < need:",
        "        if self.count(gang) + 1 < need:",
    ),
)
