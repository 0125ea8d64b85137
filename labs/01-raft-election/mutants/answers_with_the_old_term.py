"""The answer carries the term from before the request, so the candidate takes the vote for an old one."""

KILLED_BY = "newer-terms-win"
CAUSE = "answers-old"
CHANGES = (
    (
        "        if term > self.term:\n            self.become_follower(term)\n        is_new",
        "        mine = self.term\n"
        "        if term > self.term:\n"
        "            self.become_follower(term)\n"
        "        is_new",
    ),
    (
        "        self.restart_timer()\n        return self.term, True",
        "        self.restart_timer()\n        return mine, True",
    ),
)
