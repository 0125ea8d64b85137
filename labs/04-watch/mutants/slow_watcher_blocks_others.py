"""notify stops at the first watch that has no room."""

KILLED_BY = "a-slow-one-hurts-nobody"
CAUSE = "blocked"
CHANGES = (
    (
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision\n",
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision\n"
        "                return\n",
    ),
)
