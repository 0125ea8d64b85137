"""After some silence the candidate seems to have failed, and the vote is given once more in the same term."""

KILLED_BY = "one-vote-a-term"
CAUSE = "two-votes"
CHANGES = (
    (
        "        self.silence += 1\n",
        "        self.silence += 1\n"
        "        if self.silence == ELECTION_TICKS - 1:\n"
        "            self.voted_for = None\n",
    ),
)
