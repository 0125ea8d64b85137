"""When sync has to stop for want of room it calls the watch up to date."""

KILLED_BY = "a-slow-one-catches-up"
CAUSE = "not-caught-up"
CHANGES = (
    (
        "            if wanted and len(watcher.queue) == self.room:\n"
        "                watcher.next_revision = revision\n"
        "                return\n",
        "            if wanted and len(watcher.queue) == self.room:\n                break\n",
    ),
)
