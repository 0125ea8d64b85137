"""It looks for entry 0, finds none, and refuses: nothing ever begins."""

KILLED_BY = "adds-what-follows"
CAUSE = "refuses"
CHANGES = (
    (
        "        if self.term_at(prev_index) != prev_term:",
        "        if prev_index == 0 or self.term_at(prev_index) != prev_term:",
    ),
)
