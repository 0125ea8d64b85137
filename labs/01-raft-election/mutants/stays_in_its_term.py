"""A candidate asks in the term it is in: those who voted in it refuse."""

KILLED_BY = "asks-rightly"
CAUSE = "same-term"
CHANGES = (
    (
        "self.term, self.voted_for = self.term + 1, self.me",
        "self.voted_for = self.me",
    ),
)
