"""Each sync tells of the compaction once more."""

KILLED_BY = "ends-for-good"
CAUSE = "after-the-end"
CHANGES = (
    (
        "watcher.is_behind, watcher.has_ended = False, True",
        "watcher.has_ended = True",
    ),
)
