"""Who was behind once stays behind: only sync gives it anything."""

KILLED_BY = "no-seam"
CAUSE = "stays-behind"
CHANGES = (
    (
        "        watcher.next_revision = self.history.revision + 1\n        watcher.is_behind = False\n",
        "        watcher.next_revision = self.history.revision + 1\n",
    ),
)
