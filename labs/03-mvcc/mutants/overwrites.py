"""A put replaces the record of the key."""

KILLED_BY = "the-past-stays"
CAUSE = "past-lost"
CHANGES = (
    (
        "        self.index[kv.key][-1].append(kv.mod_revision)\n",
        "        self.index[kv.key][-1][:] = [kv.mod_revision]\n",
    ),
)
