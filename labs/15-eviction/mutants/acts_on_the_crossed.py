"""The manager does not wait for what is due."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "no-grace"
CHANGES = (
    (
        "names[0] if self.due and names",
        "names[0] if low and names",
    ),
)
