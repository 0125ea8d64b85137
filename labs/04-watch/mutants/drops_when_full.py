"""A watch without room misses the event, for ever."""

KILLED_BY = "a-slow-one-catches-up"
CAUSE = "not-caught-up"
CHANGES = (
    (
        "            else:\n"
        "                watcher.is_behind = True\n"
        "                watcher.next_revision = revision\n",
        "",
    ),
)
