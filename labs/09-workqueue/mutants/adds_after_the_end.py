"""`add` goes on taking keys in after `shut_down`: the workers never run dry, and the process does not end."""

KILLED_BY = "shuts-down"
CAUSE = "late-add"
CHANGES = (
    (
        "        if self.shutting_down or item in self.dirty:",
        "        if item in self.dirty:",
    ),
)
