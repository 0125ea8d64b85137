"""A request in its own term makes a follower of a candidate, and even of a leader."""

KILLED_BY = "newer-terms-win"
CAUSE = "gives-up"
CHANGES = (
    (
        "        if term > self.term:\n            self.become_follower(term)\n        is_new",
        "        if term >= self.term:\n            self.become_follower(term)\n        is_new",
    ),
)
