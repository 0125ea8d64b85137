"""It saves its votes, and not the terms it hears of: after a crash it is back in the past."""

KILLED_BY = "survives-a-crash"
CAUSE = "forgets-its-term"
CHANGES = (
    (
        '            self.disk.save(self.term, self.voted_for)\n        self.role = "follower"',
        '        self.role = "follower"',
    ),
)
