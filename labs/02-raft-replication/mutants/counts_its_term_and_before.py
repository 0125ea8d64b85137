"""It compares terms, with <= instead of ==: every entry in its log passes."""

KILLED_BY = "figure-8"
CAUSE = "differs"
CHANGES = (
    (
        " and self.log.term_at(index) == self.term:",
        " and self.log.term_at(index) <= self.term:",
    ),
)
