"""A compaction is noted before it is refused."""

KILLED_BY = "refuses-the-future"
CAUSE = "refuses"
CHANGES = (
    (
        "        if revision > self.revision:\n"
        "            raise ValueError(FUTURE)\n"
        "        self.compact_revision = revision\n",
        "        self.compact_revision = revision\n"
        "        if revision > self.revision:\n"
        "            raise ValueError(FUTURE)\n",
    ),
)
