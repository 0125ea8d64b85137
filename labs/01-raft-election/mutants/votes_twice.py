"""It votes for everybody who asks, also twice in one term.

Two candidates can have a majority each, and both lead.
"""

KILLED_BY = "one-vote-a-term"
CAUSE = "two-votes"
CHANGES = (
    (
        "        if term < self.term or self.voted_for not in (None, candidate) or not is_new_enough:",
        "        if term < self.term or not is_new_enough:",
    ),
)
