"""When sync has to stop for want of room it forgets how far it came."""

KILLED_BY = "a-slow-one-catches-up"
CAUSE = "twice"
CHANGES = (
    (
        "            if wanted and len(watcher.queue) == self.room:\n"
        "                watcher.next_revision = revision\n"
        "                return\n",
        "            if wanted and len(watcher.queue) == self.room:\n                return\n",
    ),
)
