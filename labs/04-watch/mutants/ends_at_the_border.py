"""Who misses the compacted revision itself is told that it is gone."""

KILLED_BY = "spares-who-misses-nothing"
CAUSE = "ends-at-the-border"
CHANGES = (
    (
        "if watcher.next_revision < compacted:",
        "if watcher.next_revision <= compacted:",
    ),
)
