"""After yes, next is the last entry that the node has, not the one behind it.

Each message carries one entry that is there already.
"""

KILLED_BY = "learns-from-answers"
CAUSE = "not-behind-what-it-has"
CHANGES = (
    (
        "self.next_index[other] = self.match_index[other] + 1",
        "self.next_index[other] = max(1, self.match_index[other])",
    ),
)
