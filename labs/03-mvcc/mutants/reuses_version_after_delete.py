"""The version of a key goes on counting after it was deleted and put again."""

KILLED_BY = "a-put-begins-another"
CAUSE = "reuses-version"
CHANGES = (
    (
        "            self.write(KeyValue(key, value, self.revision, self.revision, 1))\n",
        "            older = [one for life in self.index[key] for one in life if self.backend[one, key].version]\n"
        "            self.write(KeyValue(key, value, self.revision, self.revision, len(older) + 1))\n",
    ),
)
