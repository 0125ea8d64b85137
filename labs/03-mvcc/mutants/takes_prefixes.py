"""A read of one key returns all keys that begin with it."""

KILLED_BY = "intervals"
CAUSE = "outside"
CHANGES = (
    (
        "name == key or",
        "name.startswith(key) or",
    ),
)
