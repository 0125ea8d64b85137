"""A Pod whose binding failed still counts for its gang."""

KILLED_BY = "one-is-gone"
CAUSE = "leak"
CHANGES = (
    (
        "        gang = self.goes.pop(pod, None)",
        "        gang = self.goes.get(pod)",
    ),
)
