"""notify knows no room: the queue of a reader that sleeps grows."""

KILLED_BY = "bounded"
CAUSE = "more-than-room"
CHANGES = (
    (
        "            if len(watcher.queue) < self.room:\n"
        "                watcher.queue.append(Response(revision, wanted))\n"
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision\n",
        "            watcher.queue.append(Response(revision, wanted))\n",
    ),
)
