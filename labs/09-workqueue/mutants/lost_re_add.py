"""A key that is added while a worker holds it is dropped, as if the worker could see the change.

The worker may have read the object before the change. Nobody looks at it again until something else happens.
"""

KILLED_BY = "nothing-lost"
CAUSE = "lost-while-in-work"
CHANGES = (
    (
        "        if self.shutting_down or item in self.dirty:",
        "        if self.shutting_down or item in self.dirty or item in self.processing:",
    ),
)
