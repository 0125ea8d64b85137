"""sync stops at the first watch that has no room."""

KILLED_BY = "a-slow-one-hurts-nobody"
CAUSE = "blocked"
CHANGES = (
    (
        "            if watcher.is_behind and len(watcher.queue) < self.room:\n                self.feed(watcher)\n",
        "            if watcher.is_behind and len(watcher.queue) >= self.room:\n"
        "                return\n"
        "            if watcher.is_behind:\n"
        "                self.feed(watcher)\n",
    ),
)
