"""A delete that finds nothing makes a revision all the same."""

KILLED_BY = "a-delete-is-one-change"
CAUSE = "revision-for-nothing"
CHANGES = (
    (
        "        if found:\n            self.revision += 1\n",
        "        self.revision += 1\n",
    ),
)
