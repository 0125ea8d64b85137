"""A late refusal moves next behind what the node has confirmed since: everything is sent again."""

KILLED_BY = "learns-from-answers"
CAUSE = "back-behind-what-it-has"
CHANGES = (
    (
        "max(match + 1, min(index, self.next_index[other]))",
        "min(index, self.next_index[other])",
    ),
)
