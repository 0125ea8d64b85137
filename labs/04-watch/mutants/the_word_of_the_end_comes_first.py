"""A compaction throws away what waits in the queue."""

KILLED_BY = "says-what-is-gone"
CAUSE = "end-before-the-rest"
CHANGES = (
    (
        "            watcher.queue.append(Response(0, [], compacted))\n",
        "            watcher.queue = [Response(0, [], compacted)]\n",
    ),
)
