"""It votes in newer terms without entering them.

So it takes part in the past and the present at the same time.
"""

KILLED_BY = "newer-terms-win"
CAUSE = "keeps-its-term"
CHANGES = (
    (
        "        if term > self.term:\n            self.become_follower(term)\n        is_new",
        "        is_new",
    ),
)
