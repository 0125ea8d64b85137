"""Of equals the last."""

KILLED_BY = "wastes-least"
CAUSE = "last-of-equals"
CHANGES = (
    (
        "min(options, key",
        "min(reversed(options), key",
    ),
)
