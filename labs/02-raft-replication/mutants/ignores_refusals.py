"""After a refusal it sends the same again."""

KILLED_BY = "learns-from-answers"
CAUSE = "ignores-the-refusal"
CHANGES = (
    (
        "            self.next_index[other] = max(match + 1, min(index, self.next_index[other]))",
        "            pass",
    ),
)
