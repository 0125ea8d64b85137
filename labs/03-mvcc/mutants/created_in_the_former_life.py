"""A key that is put again keeps the create_revision of its first life."""

KILLED_BY = "a-put-begins-another"
CAUSE = "old-create"
CHANGES = (
    (
        "            self.write(KeyValue(key, value, self.revision, self.revision, 1))\n",
        "            first = self.index[key][0]\n"
        "            created = first[0] if first else self.revision\n"
        "            self.write(KeyValue(key, value, created, self.revision, 1))\n",
    ),
)
