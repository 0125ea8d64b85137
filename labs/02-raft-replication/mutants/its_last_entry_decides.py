"""It looks at the term of its last entry, where it should look at that of the entry to be committed.

In figure 8 a single proposal is enough then to lose an entry.
"""

KILLED_BY = "figure-8"
CAUSE = "differs"
CHANGES = (
    (
        " and self.log.term_at(index) == self.term:",
        " and self.log.last()[1] == self.term:",
    ),
)
