"""Its own candidacy is in memory only. After a crash it votes for another in the term in which it stood itself."""

KILLED_BY = "survives-a-crash"
CAUSE = "forgets-its-term"
CHANGES = (
    (
        "        self.disk.save(self.term, self.voted_for)\n        self.votes = {self.me}",
        "        self.votes = {self.me}",
    ),
)
