"""A request of an older term is answered with a vote."""

KILLED_BY = "refuses-the-past"
CAUSE = "votes-in-the-past"
CHANGES = (
    (
        "        if term < self.term or self.voted_for not in (None, candidate)",
        "        if self.voted_for not in (None, candidate)",
    ),
)
