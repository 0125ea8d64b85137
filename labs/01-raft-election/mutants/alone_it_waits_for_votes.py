"""It looks for a majority only when a vote comes. In a group of one none ever does."""

KILLED_BY = "majority-leads"
CAUSE = "alone"
CHANGES = (
    (
        '        if self.has_majority():\n            return self.become_leader()\n        return "request_vote"',
        '        return "request_vote"',
    ),
)
