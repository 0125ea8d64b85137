"""Everybody waits equally long.

All ask in the same tick, each votes for itself, and nobody wins: for ever.
"""

KILLED_BY = "first-leader"
CAUSE = "no-leader"
CHANGES = (
    (
        "self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)",
        "15",
    ),
)
