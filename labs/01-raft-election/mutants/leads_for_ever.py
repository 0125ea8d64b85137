"""A newer term does not end its leadership."""

KILLED_BY = "newer-terms-win"
CAUSE = "keeps-its-role"
CHANGES = (
    (
        '            self.disk.save(self.term, self.voted_for)\n        self.role = "follower"',
        "            self.disk.save(self.term, self.voted_for)",
    ),
)
