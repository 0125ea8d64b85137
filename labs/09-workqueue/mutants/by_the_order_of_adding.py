"""`tick` adds what is due in the order in which it was given, not by due time."""

KILLED_BY = "by-due-time"
CAUSE = "order"
CHANGES = (
    (
        "        due = sorted((due_ms, item) for item, due_ms in self.waiting.items() if due_ms <= now_ms)",
        "        due = [(due_ms, item) for item, due_ms in self.waiting.items() if due_ms <= now_ms]",
    ),
)
