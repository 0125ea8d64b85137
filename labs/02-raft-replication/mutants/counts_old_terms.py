"""It commits whatever a majority has, also entries of older terms.

Figure 8 of the paper: a node without that entry, but with one of a later term, can still win, and overwrites
it.
"""

KILLED_BY = "only-its-own-term"
CAUSE = "counts-old-terms"
CHANGES = (
    (
        " and self.log.term_at(index) == self.term:",
        ":",
    ),
)
