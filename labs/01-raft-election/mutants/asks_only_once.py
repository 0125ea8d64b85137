"""A candidate waits for ever: after a split vote nobody starts another election."""

KILLED_BY = "asks-when-silent"
CAUSE = "waits-for-ever"
CHANGES = (
    (
        '        if self.role == "leader":\n            return "heartbeat", self.term\n        self.silence',
        '        if self.role == "leader":\n'
        '            return "heartbeat", self.term\n'
        '        if self.role == "candidate":\n'
        "            return None\n"
        "        self.silence",
    ),
)
