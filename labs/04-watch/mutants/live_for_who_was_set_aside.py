"""As soon as there is room again, notify goes on, and what was missed comes later."""

KILLED_BY = "a-slow-one-catches-up"
CAUSE = "lost-while-slow"
CHANGES = (
    (
        "            if not wanted or watcher.is_behind or watcher.has_ended or revision < watcher.next_revision:\n",
        "            is_replaying = watcher.is_behind and not watcher.was_slow\n"
        "            if not wanted or is_replaying or watcher.has_ended or revision < watcher.next_revision:\n",
    ),
    (
        "        self.has_ended = False\n",
        "        self.has_ended = False\n        self.was_slow = False\n",
    ),
    (
        "                watcher.is_behind = True\n                watcher.next_revision = revision\n",
        "                if not watcher.is_behind:\n"
        "                    watcher.next_revision = revision\n"
        "                watcher.is_behind = watcher.was_slow = True\n",
    ),
)
