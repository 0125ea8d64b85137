"""There is no set of what waits: ten adds of a key are ten pieces of work."""

KILLED_BY = "at-most-once"
CAUSE = "duplicate"
CHANGES = (
    (
        "        if self.shutting_down or item in self.dirty:",
        "        if self.shutting_down:",
    ),
    (
        "        self.dirty.remove(item)",
        "        self.dirty.discard(item)",
    ),
)
