"""A watch of one key takes the value None for nothing: it is never told of a delete."""

KILLED_BY = "only-its-keys"
CAUSE = "loses-a-delete"
CHANGES = (
    (
        "if event[0] == self.key or",
        "if event[0] == self.key and event[1] or",
    ),
)
