"""sync ends every watch that began before the compacted revision."""

KILLED_BY = "spares-who-misses-nothing"
CAUSE = "ends-who-misses-nothing"
CHANGES = (
    (
        "            if watcher.is_behind and len(watcher.queue) < self.room:\n                self.feed(watcher)\n",
        "            has_room = not watcher.has_ended and len(watcher.queue) < self.room\n"
        "            if has_room and (watcher.is_behind or watcher.next_revision < self.history.compact_revision):\n"
        "                self.feed(watcher)\n",
    ),
)
