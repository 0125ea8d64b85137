"""The delay grows by 5 ms each time instead of doubling: a broken key is retried hundreds of times a minute."""

KILLED_BY = "backs-off"
CAUSE = "delay"
CHANGES = (
    (
        "self.base_ms * 2**failures",
        "self.base_ms * (1 + failures)",
    ),
)
