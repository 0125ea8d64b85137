"""`add_after` adds at once: a key that failed is tried again without a pause."""

KILLED_BY = "not-before-its-time"
CAUSE = "early"
CHANGES = (
    (
        "        if delay_ms <= 0:",
        "        if delay_ms >= 0:",
    ),
)
