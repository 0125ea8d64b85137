"""It draws, but from a stream of its own: the same schedule runs otherwise each time."""

KILLED_BY = "every-silence-differs"
CAUSE = "other-dice"
CHANGES = (
    (
        "class Node:\n",
        "import random\n\nDICE = random.Random(5)\n\n\nclass Node:\n",
    ),
    (
        "self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)",
        "DICE.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)",
    ),
)
