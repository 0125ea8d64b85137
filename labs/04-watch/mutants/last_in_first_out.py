"""take hands out the newest response."""

KILLED_BY = "tells-what-happens"
CAUSE = "lost"
CHANGES = (
    (
        "watcher.queue.pop(0)",
        "watcher.queue.pop()",
    ),
)
