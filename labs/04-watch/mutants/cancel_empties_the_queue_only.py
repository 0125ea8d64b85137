"""After cancel the watch is fed as before."""

KILLED_BY = "ends-for-good"
CAUSE = "after-the-end"
CHANGES = (
    (
        "        self.watchers.pop(watch_id, None)\n",
        "        if watch_id in self.watchers:\n            self.watchers[watch_id].queue.clear()\n",
    ),
)
