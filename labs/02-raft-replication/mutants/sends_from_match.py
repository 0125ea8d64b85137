"""It sends from match on and forgets next: a node that said where to begin gets all from the start."""

KILLED_BY = "sends-what-is-missing"
CAUSE = "first-elsewhere"
CHANGES = (
    (
        "prev_index = self.next_index[other] - 1",
        "prev_index = self.match_index[other]",
    ),
)
