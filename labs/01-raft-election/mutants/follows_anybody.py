"""It follows whoever says that it leads, also in a term of the past."""

KILLED_BY = "refuses-the-past"
CAUSE = "follows-the-past"
CHANGES = (
    (
        "        if term >= self.term:\n            self.become_follower(term)\n            self.restart_timer()",
        '        self.role = "follower"\n'
        "        if term >= self.term:\n"
        "            self.become_follower(term)\n"
        "            self.restart_timer()",
    ),
)
