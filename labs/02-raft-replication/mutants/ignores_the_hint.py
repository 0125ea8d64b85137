"""A refusal moves next back by one, wherever the node asks it to begin."""

KILLED_BY = "learns-from-answers"
CAUSE = "ignores-the-refusal"
CHANGES = (
    (
        "max(match + 1, min(index, self.next_index[other]))",
        "max(match + 1, self.next_index[other] - 1)",
    ),
)
