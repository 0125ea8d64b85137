"""The word of the compaction is queued though the queue is full."""

KILLED_BY = "says-what-is-gone"
CAUSE = "more-than-room"
CHANGES = (
    (
        "            if watcher.is_behind and len(watcher.queue) < self.room:\n                self.feed(watcher)\n",
        "            is_gone = watcher.next_revision < self.history.compact_revision\n"
        "            if watcher.is_behind and (is_gone or len(watcher.queue) < self.room):\n"
        "                self.feed(watcher)\n",
    ),
)
