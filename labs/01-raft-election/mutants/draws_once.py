"""The timeout is drawn once, when the node starts.

Two that drew the same number split every vote.
"""

KILLED_BY = "every-silence-differs"
CAUSE = "no-dice"
CHANGES = (
    (
        "        self.votes = set()\n        self.restart_timer()",
        "        self.votes = set()\n"
        "        self.timeout = self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)\n"
        "        self.restart_timer()",
    ),
    (
        "        self.silence = 0\n        self.timeout = self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)",
        "        self.silence = 0",
    ),
)
