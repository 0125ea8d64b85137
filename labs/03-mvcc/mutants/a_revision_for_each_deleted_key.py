"""A delete of several keys makes a revision for each."""

KILLED_BY = "a-delete-is-one-change"
CAUSE = "revision-for-each-key"
CHANGES = (
    (
        "        if found:\n            self.revision += 1\n        for kv in found:\n",
        "        for kv in found:\n            self.revision += 1\n",
    ),
)
