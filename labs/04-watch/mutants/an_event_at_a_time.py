"""notify makes a response of each event."""

KILLED_BY = "a-revision-is-whole"
CAUSE = "split"
CHANGES = (
    (
        "                watcher.queue.append(Response(revision, wanted))\n            else:\n",
        "                watcher.queue += [Response(revision, [event]) for event in wanted]\n            else:\n",
    ),
)
