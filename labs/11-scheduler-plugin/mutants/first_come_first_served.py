"""The place in the list goes into the score: equals differ."""

KILLED_BY = "cooler-is-better"
CAUSE = "equals-differ"
CHANGES = (
    (
        "        return [100 * score // most if most else 0 for score in scores]",
        "        return [max(0, 100 * score // most - i) if most else 0 for i, score in enumerate(scores)]",
    ),
)
