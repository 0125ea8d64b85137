"""A vote for an election that is over counts in the next one."""

KILLED_BY = "majority-leads"
CAUSE = "counts-old-votes"
CHANGES = (
    (
        'elif self.role == "candidate" and term == self.term and granted:',
        'elif self.role == "candidate" and granted:',
    ),
)
