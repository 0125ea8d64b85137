"""The first change after the compacted revision goes too."""

KILLED_BY = "compaction-keeps-every-change-since"
CAUSE = "drops-a-change"
CHANGES = (
    (
        "one >= before or",
        "one == before or one > before + 1 or",
    ),
)
