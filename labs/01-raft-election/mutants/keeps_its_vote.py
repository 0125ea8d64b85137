"""The vote of an earlier term is still there in the next one, so its new candidates are refused."""

KILLED_BY = "one-vote-a-term"
CAUSE = "keeps-its-vote"
CHANGES = (
    (
        "self.term, self.voted_for = term, None",
        "self.term = term",
    ),
)
