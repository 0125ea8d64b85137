"""The Pod that is asked for is not counted."""

KILLED_BY = "nobody-goes-early"
CAUSE = "stuck"
CHANGES = (
    (
        "        if self.count(gang) < need:",
        "        if self.count(gang) - 1 < need:",
    ),
)
