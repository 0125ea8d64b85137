"""The first revision that a slow watch misses is taken to be the one behind its last event."""

KILLED_BY = "spares-who-misses-nothing"
CAUSE = "ends-without-need"
CHANGES = (
    (
        "                watcher.queue.append(Response(revision, wanted))\n            else:\n",
        "                watcher.queue.append(Response(revision, wanted))\n"
        "                watcher.next_revision = revision + 1\n"
        "            else:\n",
    ),
    (
        "                watcher.is_behind = True\n                watcher.next_revision = revision\n",
        "                watcher.is_behind = True\n",
    ),
)
