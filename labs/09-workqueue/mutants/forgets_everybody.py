"""`forget` clears the counters of all keys: one success anywhere, and every failing key starts again at 5 ms."""

KILLED_BY = "forgets"
CAUSE = "others"
CHANGES = (
    (
        "        self.failures.pop(item, None)",
        "        self.failures.clear()",
    ),
)
