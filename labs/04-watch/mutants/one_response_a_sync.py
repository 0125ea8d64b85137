"""sync gives one response to each watch that is behind."""

KILLED_BY = "replays-the-past"
CAUSE = "not-replayed"
CHANGES = (
    (
        "            if wanted:\n"
        "                watcher.queue.append(Response(revision, wanted))\n"
        "        watcher.next",
        "            if wanted:\n"
        "                watcher.queue.append(Response(revision, wanted))\n"
        "                watcher.next_revision = revision + 1\n"
        "                return\n"
        "        watcher.next",
    ),
)
