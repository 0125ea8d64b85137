"""sync makes a response of each event."""

KILLED_BY = "a-revision-is-whole"
CAUSE = "split"
CHANGES = (
    (
        "            if wanted:\n"
        "                watcher.queue.append(Response(revision, wanted))\n"
        "        watcher.next",
        "            for event in wanted:\n"
        "                watcher.queue.append(Response(revision, [event]))\n"
        "        watcher.next",
    ),
)
