"""A watch that compaction has overtaken is fed with what is left: the puts that still live, and no delete."""

KILLED_BY = "says-what-is-gone"
CAUSE = "hides-a-compaction"
CHANGES = (
    (
        "        compacted = self.history.compact_revision\n"
        "        if watcher.next_revision < compacted:\n"
        "            watcher.queue.append(Response(0, [], compacted))\n"
        "            watcher.is_behind, watcher.has_ended = False, True\n"
        "            return\n",
        "",
    ),
)
