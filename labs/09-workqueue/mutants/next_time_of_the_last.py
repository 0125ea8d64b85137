"""`next_due_ms` names the last due time: whoever sleeps until then is late for all others."""

KILLED_BY = "tells-the-next-time"
CAUSE = "next"
CHANGES = (
    (
        "min(self.waiting.values(), default=None)",
        "max(self.waiting.values(), default=None)",
    ),
)
