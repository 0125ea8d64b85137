"""The headroom is the score, not normalised: never 100 in a warm room, whatever the weight."""

KILLED_BY = "scores-fill-the-scale"
CAUSE = "not-100"
CHANGES = (
    (
        "        return [100 * score // most if most else 0 for score in scores]",
        "        return list(scores)",
    ),
)
