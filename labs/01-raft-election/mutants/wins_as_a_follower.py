"""A vote that arrives late makes a leader of a node that follows another one already."""

KILLED_BY = "majority-leads"
CAUSE = "uninvited"
CHANGES = (
    (
        'elif self.role == "candidate" and term == self.term and granted:',
        "elif term == self.term and granted:",
    ),
)
