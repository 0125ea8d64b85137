"""put returns the revision at which the store was."""

KILLED_BY = "a-revision-for-a-write"
CAUSE = "other-revision"
CHANGES = (
    (
        "        return self.revision\n",
        "        return self.revision - 1\n",
    ),
)
