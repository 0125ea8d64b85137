"""A refusal is a ValueError with a text that is not etcd's."""

KILLED_BY = "refuses-the-compacted"
CAUSE = "other-error"
CHANGES = (
    (
        "        if revision and revision < self.compact_revision:\n            raise ValueError(COMPACTED)\n",
        '        if revision and revision < self.compact_revision:\n            raise ValueError("gone")\n',
    ),
)
