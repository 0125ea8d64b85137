"""`forget` does nothing: a key that failed ten times last week starts at five seconds today."""

KILLED_BY = "forgets"
CAUSE = "kept"
CHANGES = (
    (
        "        self.failures.pop(item, None)",
        "        return None",
    ),
)
