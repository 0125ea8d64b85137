"""A watch from 0 begins with the newest revision, which was written already."""

KILLED_BY = "from-now-on"
CAUSE = "before-its-start"
CHANGES = (
    (
        "Watcher(key, end, start or newest + 1)",
        "Watcher(key, end, start or newest)",
    ),
    (
        "watcher.next_revision <= newest",
        "0 < start <= newest",
    ),
)
