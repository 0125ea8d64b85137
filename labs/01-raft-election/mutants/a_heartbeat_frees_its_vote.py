"""The leader speaks, and the node takes the election for over: its vote is free again, in the same term."""

KILLED_BY = "one-vote-a-term"
CAUSE = "two-votes"
CHANGES = (
    (
        "            self.become_follower(term)\n            self.restart_timer()\n",
        "            self.become_follower(term)\n            self.voted_for = None\n            self.restart_timer()\n",
    ),
)
