"""Who was let go does not count: a Pod that comes later waits for a whole gang."""

KILLED_BY = "who-comes-later"
CAUSE = "late-waits"
CHANGES = (
    (
        "        if self.count(gang) < need:",
        "        if len(self.of_gang(gang)) < need:",
    ),
)
