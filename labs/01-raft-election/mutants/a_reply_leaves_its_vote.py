"""It learns of a newer term from an answer to its heartbeat, and takes its old vote along."""

KILLED_BY = "newer-terms-win"
CAUSE = "keeps-its-vote"
CHANGES = (
    (
        '        """The term of a node that heard my heartbeat."""\n'
        "        if term > self.term:\n"
        "            self.become_follower(term)",
        '        """The term of a node that heard my heartbeat."""\n'
        "        if term > self.term:\n"
        '            self.term, self.role = term, "follower"\n'
        "            self.disk.save(self.term, self.voted_for)",
    ),
)
