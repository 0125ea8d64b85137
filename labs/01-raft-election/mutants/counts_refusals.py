"""Whoever answers counts as a vote, also with no."""

KILLED_BY = "majority-leads"
CAUSE = "counts-refusals"
CHANGES = (
    (
        'elif self.role == "candidate" and term == self.term and granted:',
        'elif self.role == "candidate" and term == self.term:',
    ),
)
