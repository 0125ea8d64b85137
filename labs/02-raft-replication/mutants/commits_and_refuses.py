"""It takes the commit index first, and looks whether the entries fit after that."""

KILLED_BY = "refuses-what-does-not-fit"
CAUSE = "commits-and-refuses"
CHANGES = (
    (
        "        if self.term_at(prev_index) != prev_term:",
        "        self.commit_index = max(self.commit_index, min(leader_commit, len(self.entries)))\n"
        "        if self.term_at(prev_index) != prev_term:",
    ),
)
