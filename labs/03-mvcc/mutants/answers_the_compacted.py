"""A read before the compacted revision is answered from what is left."""

KILLED_BY = "refuses-the-compacted"
CAUSE = "answers-the-compacted"
CHANGES = (
    (
        "        if revision and revision < self.compact_revision:\n            raise ValueError(COMPACTED)\n",
        "",
    ),
)
