"""sync puts the whole past into the queue."""

KILLED_BY = "bounded"
CAUSE = "more-than-room"
CHANGES = (
    (
        "            if wanted and len(watcher.queue) == self.room:\n"
        "                watcher.next_revision = revision\n"
        "                return\n",
        "",
    ),
)
