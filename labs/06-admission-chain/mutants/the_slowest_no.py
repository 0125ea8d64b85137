"""The client hears of the slowest."""

KILLED_BY = "asks-all-at-once"
CAUSE = "slowest-no"
CHANGES = (
    (
        "    return min(refusals, key=lambda one: one[0])[1], max(times)",
        "    return max(refusals)[1], max(times)",
    ),
)
