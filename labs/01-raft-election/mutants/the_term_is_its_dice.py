"""The timeout comes from the term and the name: it changes each time, and two nodes that are in step stay so."""

KILLED_BY = "every-silence-differs"
CAUSE = "no-dice"
CHANGES = (
    (
        "self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)",
        "ELECTION_TICKS + (3 * self.term + sum(map(ord, self.me))) % ELECTION_TICKS",
    ),
)
