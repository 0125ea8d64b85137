"""A watch that is set aside goes on behind the event for which it had no room, whatever the others do."""

KILLED_BY = "a-slow-one-hurts-nobody"
CAUSE = "not-caught-up"
CHANGES = (
    (
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision\n",
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision + 1\n",
    ),
)
