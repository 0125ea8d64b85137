"""After cancel what waited can still be taken."""

KILLED_BY = "ends-for-good"
CAUSE = "after-the-end"
CHANGES = (
    (
        "        self.watchers.pop(watch_id, None)\n",
        "        if watch_id in self.watchers:\n"
        "            self.watchers[watch_id].is_behind, self.watchers[watch_id].has_ended = False, True\n",
    ),
)
