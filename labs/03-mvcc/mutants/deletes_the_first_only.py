"""A delete with an end deletes its first key."""

KILLED_BY = "a-delete-is-one-change"
CAUSE = "other-count"
CHANGES = (
    (
        "        found = self.range(key, end)\n",
        "        found = self.range(key)\n",
    ),
)
