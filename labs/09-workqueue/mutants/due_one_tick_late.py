"""What is due exactly now has to wait for the next tick."""

KILLED_BY = "not-before-its-time"
CAUSE = "late"
CHANGES = (
    (
        "if due_ms <= now_ms)",
        "if due_ms < now_ms)",
    ),
)
