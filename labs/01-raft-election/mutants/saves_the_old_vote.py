"""The new term is saved before the vote of the old one is forgotten: after a crash it seems to have voted."""

KILLED_BY = "survives-a-crash"
CAUSE = "keeps-its-vote"
CHANGES = (
    (
        "            self.term, self.voted_for = term, None\n            self.disk.save(self.term, self.voted_for)\n",
        "            self.term = term\n"
        "            self.disk.save(self.term, self.voted_for)\n"
        "            self.voted_for = None\n",
    ),
)
