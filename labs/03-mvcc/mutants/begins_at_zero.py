"""An empty store is at revision 0."""

KILLED_BY = "a-revision-for-a-write"
CAUSE = "other-revision"
CHANGES = (
    (
        "        self.revision = 1\n",
        "        self.revision = 0\n",
    ),
)
