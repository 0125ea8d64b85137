"""Coolest to hottest is stretched over the scale: 60 and 61 degrees are 100 and 0."""

KILLED_BY = "scores-fill-the-scale"
CAUSE = "proportion"
CHANGES = (
    (
        "        return [100 * score // most if most else 0 for score in scores]",
        "        least = min(scores, default=0)\n"
        "        span = most - least\n"
        "        return [100 * (score - least) // span if span else 100 * bool(most) for score in scores]",
    ),
)
