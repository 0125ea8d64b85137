"""take leaves the response in the queue."""

KILLED_BY = "tells-what-happens"
CAUSE = "twice"
CHANGES = (
    (
        "watcher.queue.pop(0)",
        "watcher.queue[0]",
    ),
)
