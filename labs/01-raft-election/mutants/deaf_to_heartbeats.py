"""Heartbeats do not start the silence anew: an election every second or two."""

KILLED_BY = "hears-the-leader"
CAUSE = "deaf-to-heartbeats"
CHANGES = (
    (
        "            self.become_follower(term)\n            self.restart_timer()\n        return self.term",
        "            self.become_follower(term)\n        return self.term",
    ),
)
