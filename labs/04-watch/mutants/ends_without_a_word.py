"""A watch that compaction has overtaken ends, and nobody is told."""

KILLED_BY = "says-what-is-gone"
CAUSE = "not-told-of-compaction"
CHANGES = (
    (
        "            watcher.queue.append(Response(0, [], compacted))\n",
        "",
    ),
)
