"""`done` puts the key back whether or not it was added meanwhile: it is worked on for ever."""

KILLED_BY = "at-most-once"
CAUSE = "duplicate"
CHANGES = (
    (
        "        if item in self.dirty:\n            self.queue.append(item)",
        "        self.dirty.add(item)\n        self.queue.append(item)",
    ),
)
