"""Only three lengths are drawn: of three nodes two often have the same."""

KILLED_BY = "every-silence-differs"
CAUSE = "narrow"
CHANGES = (
    (
        "self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)",
        "self.rng.choice((10, 14, 19))",
    ),
)
