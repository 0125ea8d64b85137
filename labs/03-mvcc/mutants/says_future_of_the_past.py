"""A read before the compacted revision gets the other error."""

KILLED_BY = "refuses-the-compacted"
CAUSE = "other-text"
CHANGES = (
    (
        "        if revision and revision < self.compact_revision:\n            raise ValueError(COMPACTED)\n",
        "        if revision and revision < self.compact_revision:\n            raise ValueError(FUTURE)\n",
    ),
)
