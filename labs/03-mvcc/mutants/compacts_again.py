"""The same revision, or an older one, can be compacted again."""

KILLED_BY = "refuses-the-compacted"
CAUSE = "answers-the-compacted"
CHANGES = (
    (
        "        if revision <= self.compact_revision:\n            raise ValueError(COMPACTED)\n",
        "",
    ),
)
