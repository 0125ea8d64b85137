"""A watch of one key is handed all keys that begin with it."""

KILLED_BY = "only-its-keys"
CAUSE = "other-keys"
CHANGES = (
    (
        "event[0] == self.key or",
        "event[0].startswith(self.key) or",
    ),
)
