"""After the word of the compaction notify goes on."""

KILLED_BY = "ends-for-good"
CAUSE = "after-the-end"
CHANGES = (
    (
        " or watcher.has_ended or",
        " or",
    ),
)
