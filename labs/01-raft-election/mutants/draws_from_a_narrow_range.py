"""The timeouts are 14 to 16 ticks: nearly equal is nearly as bad as equal."""

KILLED_BY = "every-silence-differs"
CAUSE = "narrow"
CHANGES = (
    (
        "self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)",
        "self.rng.randrange(14, 17)",
    ),
)
