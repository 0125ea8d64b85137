"""A refusal always asks for what is behind the last entry, also when that one is the problem."""

KILLED_BY = "says-where-to-begin"
CAUSE = "begins-elsewhere"
CHANGES = (
    (
        "        if prev_index > len(self.entries):\n            return len(self.entries) + 1\n        index",
        "        if prev_index:\n            return len(self.entries) + 1\n        index",
    ),
)
