"""A watch that is set aside is fed from its start again."""

KILLED_BY = "a-slow-one-catches-up"
CAUSE = "twice"
CHANGES = (
    (
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision\n",
        "            else:\n                watcher.is_behind = True\n",
    ),
)
