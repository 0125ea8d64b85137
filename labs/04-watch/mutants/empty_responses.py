"""Each revision makes a response for every watch, also without events."""

KILLED_BY = "only-its-keys"
CAUSE = "empty"
CHANGES = (
    (
        "            if not wanted or watcher",
        "            if watcher",
    ),
)
