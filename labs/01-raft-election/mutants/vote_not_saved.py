"""The vote is in memory only. After a crash it votes for somebody else in the same term."""

KILLED_BY = "survives-a-crash"
CAUSE = "forgets-its-vote"
CHANGES = (
    (
        "        self.disk.save(self.term, self.voted_for)\n"
        "        self.restart_timer()\n"
        "        return self.term, True",
        "        self.restart_timer()\n        return self.term, True",
    ),
)
