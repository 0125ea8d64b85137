"""prev_term is the leader's own term, not that of the entry before."""

KILLED_BY = "sends-what-is-missing"
CAUSE = "other-prev-term"
CHANGES = (
    (
        "self.log.term_at(prev_index), entries",
        "self.term, entries",
    ),
)
