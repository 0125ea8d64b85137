"""It never looks at the entry before: what comes is put where the leader says, over a gap if need be."""

KILLED_BY = "refuses-what-does-not-fit"
CAUSE = "accepts-a-gap"
CHANGES = (
    (
        "        if self.term_at(prev_index) != prev_term:\n            return False, self.begin_here(prev_index)\n",
        "",
    ),
)
