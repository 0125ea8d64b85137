"""sync hands out what is written and not told yet, also to those who are not behind."""

KILLED_BY = "no-seam"
CAUSE = "ahead-of-notify"
CHANGES = (
    (
        "            if watcher.is_behind and len(watcher.queue) < self.room:\n                self.feed(watcher)\n",
        "            misses = not watcher.has_ended and watcher.next_revision <= self.history.revision\n"
        "            if misses and len(watcher.queue) < self.room:\n"
        "                self.feed(watcher)\n",
    ),
    (
        "            if not wanted or watcher.is_behind or watcher.has_ended or revision < watcher.next_revision:\n",
        "            if not watcher.is_behind and not watcher.has_ended and not wanted:\n"
        "                watcher.next_revision = max(watcher.next_revision, revision + 1)\n"
        "            if not wanted or watcher.is_behind or watcher.has_ended or revision < watcher.next_revision:\n",
    ),
    (
        "                watcher.queue.append(Response(revision, wanted))\n            else:\n",
        "                watcher.queue.append(Response(revision, wanted))\n"
        "                watcher.next_revision = revision + 1\n"
        "            else:\n",
    ),
)
