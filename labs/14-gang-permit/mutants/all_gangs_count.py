"""Every Pod with a place counts, whatever its gang."""

KILLED_BY = "gangs-apart"
CAUSE = "early"
CHANGES = (
    (
        "        if self.count(gang) < need:",
        "        if len(self.waits) + len(self.goes) < need:",
    ),
)
