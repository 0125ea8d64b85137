"""count forgets those that were let go."""

KILLED_BY = "counts-once"
CAUSE = "forgets"
CHANGES = (
    (
        "        return len(self.of_gang(gang)) + list(self.goes.values()).count(gang)",
        "        return len(self.of_gang(gang))",
    ),
    (
        "        if self.count(gang) < need:",
        "        if self.count(gang) + list(self.goes.values()).count(gang) < need:",
    ),
)
