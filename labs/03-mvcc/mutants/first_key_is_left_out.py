"""An interval begins behind its first key."""

KILLED_BY = "intervals"
CAUSE = "lost"
CHANGES = (
    (
        "if name == key or key <= name < end",
        "if (key < name < end if end else name == key)",
    ),
)
