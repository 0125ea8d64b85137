"""A watch whose queue is full is set aside also by revisions that do not concern it."""

KILLED_BY = "a-slow-one-catches-up"
CAUSE = "not-told"
CHANGES = (
    (
        "            if not wanted or watcher.is_behind or watcher.has_ended or revision < watcher.next_revision:\n",
        "            if len(watcher.queue) >= self.room and not watcher.is_behind and not watcher.has_ended:\n"
        "                watcher.is_behind, watcher.next_revision = True, revision\n"
        "            if not wanted or watcher.is_behind or watcher.has_ended or revision < watcher.next_revision:\n",
    ),
)
