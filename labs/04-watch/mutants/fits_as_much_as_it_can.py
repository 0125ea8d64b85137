"""Of a revision with many events so many are queued as there is room for; the others come with sync."""

KILLED_BY = "a-revision-is-whole"
CAUSE = "split"
CHANGES = (
    (
        "            if len(watcher.queue) < self.room:\n"
        "                watcher.queue.append(Response(revision, wanted))\n"
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision\n",
        "            for event in wanted:\n"
        "                if len(watcher.queue) < self.room:\n"
        "                    watcher.queue.append(Response(revision, [event]))\n"
        "                else:\n"
        "                    watcher.is_behind = True\n"
        "                    watcher.next_revision = revision\n",
    ),
)
