"""A watch of an interval is handed its end too."""

KILLED_BY = "only-its-keys"
CAUSE = "other-keys"
CHANGES = (
    (
        "self.key <= event[0] < self.end",
        "self.key <= event[0] <= self.end",
    ),
)
