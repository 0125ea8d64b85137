"""It adds what is missing, and leaves what is in conflict where it is."""

KILLED_BY = "conflicts-go"
CAUSE = "keeps-conflicts"
CHANGES = (
    (
        "            if self.term_at(index) != term:",
        "            if self.term_at(index) is None:",
    ),
)
