"""take hands out the newest response."""

KILLED_BY = "tells-what-happens"
CAUSE = "out-of-order"
CHANGES = (
    (
        "watcher.queue.pop(0)",
        "watcher.queue.pop()",
    ),
)
