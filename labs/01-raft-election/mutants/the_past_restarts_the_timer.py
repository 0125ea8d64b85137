"""A heartbeat of an older term starts the silence anew.

A leader that was cut off holds up the election of the next one.
"""

KILLED_BY = "refusals-do-not-count"
CAUSE = "old-heartbeat"
CHANGES = (
    (
        "            self.become_follower(term)\n            self.restart_timer()\n        return self.term",
        "            self.become_follower(term)\n        self.restart_timer()\n        return self.term",
    ),
)
