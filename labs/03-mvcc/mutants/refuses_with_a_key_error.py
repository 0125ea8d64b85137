"""A refusal has etcd's text and is a KeyError."""

KILLED_BY = "refuses-the-compacted"
CAUSE = "other-error"
CHANGES = (
    (
        "        if revision and revision < self.compact_revision:\n            raise ValueError(COMPACTED)\n",
        "        if revision and revision < self.compact_revision:\n            raise KeyError(COMPACTED)\n",
    ),
)
