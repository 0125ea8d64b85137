"""A watch of an interval is not handed the key that it begins with."""

KILLED_BY = "only-its-keys"
CAUSE = "loses-its-start"
CHANGES = (
    (
        "event[0] == self.key or self.key <= event[0] < self.end",
        "(self.key < event[0] < self.end if self.end else event[0] == self.key)",
    ),
)
