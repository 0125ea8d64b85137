"""The last response names the revision that the watch misses, not the compacted one."""

KILLED_BY = "says-what-is-gone"
CAUSE = "other-compact-revision"
CHANGES = (
    (
        "Response(0, [], compacted)",
        "Response(0, [], watcher.next_revision)",
    ),
)
