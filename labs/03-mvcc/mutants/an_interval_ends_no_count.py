"""A key that was deleted with others, by an interval, goes on with its version when it is put again."""

KILLED_BY = "a-put-begins-another"
CAUSE = "reuses-version"
CHANGES = (
    (
        "        self.compact_revision = 0\n",
        "        self.compact_revision = 0\n        self.counted = {}\n",
    ),
    (
        "            self.write(KeyValue(key, value, self.revision, self.revision, 1))\n",
        "            version = self.counted.pop(key, 0) + 1\n"
        "            self.write(KeyValue(key, value, self.revision, self.revision, version))\n",
    ),
    (
        "        for kv in found:\n",
        "        for kv in found:\n            if end:\n                self.counted[kv.key] = kv.version\n",
    ),
)
