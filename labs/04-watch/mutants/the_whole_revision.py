"""If one event of a revision is wanted, all are handed out."""

KILLED_BY = "only-its-keys"
CAUSE = "other-keys"
CHANGES = (
    (
        "                watcher.queue.append(Response(revision, wanted))\n            else:\n",
        "                watcher.queue.append(Response(revision, events))\n            else:\n",
    ),
)
