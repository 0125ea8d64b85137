"""Per mille instead of per cent: the framework fails every attempt."""

KILLED_BY = "scores-fill-the-scale"
CAUSE = "range"
CHANGES = (
    (
        "        return [100 * score // most if most else 0 for score in scores]",
        "        return [1000 * score // most if most else 0 for score in scores]",
    ),
)
