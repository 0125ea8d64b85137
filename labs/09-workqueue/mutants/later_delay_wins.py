"""A second delay replaces the first even if it is longer: a key that is rate limited again and again never comes."""

KILLED_BY = "earliest-wins"
CAUSE = "postponed"
CHANGES = (
    (
        "            self.waiting[item] = min(due_ms, self.waiting.get(item, due_ms))",
        "            self.waiting[item] = due_ms",
    ),
)
