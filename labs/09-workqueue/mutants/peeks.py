"""`get` looks at the first key and leaves it there: the workers get one key for ever and never come to an end."""

KILLED_BY = "shuts-down"
CAUSE = "never-empty"
CHANGES = (
    (
        "        item = self.queue.pop(0)",
        "        item = self.queue[0]",
    ),
    (
        "        self.dirty.remove(item)",
        "        self.dirty.discard(item)",
    ),
)
