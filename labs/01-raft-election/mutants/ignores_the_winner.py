"""A candidate goes on although somebody leads in its term."""

KILLED_BY = "newer-terms-win"
CAUSE = "no-follower"
CHANGES = (
    (
        "        if term >= self.term:\n            self.become_follower(term)\n            self.restart_timer()",
        "        if term >= self.term:\n"
        "            if term > self.term:\n"
        "                self.become_follower(term)\n"
        "            self.restart_timer()",
    ),
)
