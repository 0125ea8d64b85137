"""A watch whose queue sync has just filled stays behind, though nothing is missing: notify passes it by."""

KILLED_BY = "no-seam"
CAUSE = "stays-behind"
CHANGES = (
    (
        "history.revision + 1\n        watcher.is_behind = False\n",
        "history.revision + 1\n        watcher.is_behind = len(watcher.queue) == self.room\n",
    ),
)
