"""A vote does not start the silence anew, so it asks for votes itself before its candidate can have won."""

KILLED_BY = "hears-the-leader"
CAUSE = "votes-and-asks"
CHANGES = (
    (
        "        self.disk.save(self.term, self.voted_for)\n"
        "        self.restart_timer()\n"
        "        return self.term, True",
        "        self.disk.save(self.term, self.voted_for)\n        return self.term, True",
    ),
)
