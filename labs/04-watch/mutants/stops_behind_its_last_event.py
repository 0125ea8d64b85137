"""When sync stops for want of room, the first revision missed is taken to be the one behind the last event."""

KILLED_BY = "spares-who-misses-nothing"
CAUSE = "ends-without-need"
CHANGES = (
    (
        "            if wanted and len(watcher.queue) == self.room:\n"
        "                watcher.next_revision = revision\n"
        "                return\n",
        "            if wanted and len(watcher.queue) == self.room:\n                return\n",
    ),
    (
        "            if wanted:\n"
        "                watcher.queue.append(Response(revision, wanted))\n"
        "        watcher.next",
        "            if wanted:\n"
        "                watcher.queue.append(Response(revision, wanted))\n"
        "                watcher.next_revision = revision + 1\n"
        "        watcher.next",
    ),
)
