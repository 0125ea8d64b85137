"""watch fills the queue itself."""

KILLED_BY = "replays-the-past"
CAUSE = "fed-without-sync"
CHANGES = (
    (
        "        self.watchers[self.next_id] = watcher\n",
        "        self.watchers[self.next_id] = watcher\n"
        "        if watcher.is_behind:\n"
        "            self.feed(watcher)\n",
    ),
)
