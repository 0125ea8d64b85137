"""Compaction goes through the keys that are there, and leaves the history of deleted ones alone."""

KILLED_BY = "compaction-forgets"
CAUSE = "keeps-old-revisions"
CHANGES = (
    (
        "for key in list(self.index):",
        'for key in [kv.key for kv in self.range("", "~")]:',
    ),
)
