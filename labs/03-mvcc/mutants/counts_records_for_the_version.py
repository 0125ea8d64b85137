"""The version is how many records of this life are kept: compaction makes it smaller."""

KILLED_BY = "compaction-changes-no-answer"
CAUSE = "counts-anew"
CHANGES = (
    (
        "before.version + 1",
        "len(self.index[key][-1]) + 1",
    ),
)
