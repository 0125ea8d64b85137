"""Compaction refuses older reads, and keeps all their records."""

KILLED_BY = "compaction-forgets"
CAUSE = "keeps-old-revisions"
CHANGES = (
    (
        "        for key in list(self.index):\n            self.forget(key, revision)\n",
        "        pass\n",
    ),
)
