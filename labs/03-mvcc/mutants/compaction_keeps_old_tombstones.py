"""Of each key the newest record before the compacted revision is kept, also if it is a tombstone."""

KILLED_BY = "compaction-forgets"
CAUSE = "keeps-old-tombstones"
CHANGES = (
    (
        "        seen = self.record_at(key, before)\n",
        "        older = [one for life in self.index[key] for one in life if one <= before]\n"
        "        seen = self.backend[max(older), key] if older else None\n",
    ),
)
