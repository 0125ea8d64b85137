"""A key that is added while a worker holds it goes straight into the list, so a second worker gets it too.

Two workers then read, change and write the same object: one of the two changes is lost, or both fail with a conflict
for ever. This is what `processing` is for.
"""

KILLED_BY = "one-worker-a-key"
CAUSE = "two-workers"
CHANGES = (
    (
        "        if item not in self.processing:\n            self.queue.append(item)",
        "        self.queue.append(item)",
    ),
)
