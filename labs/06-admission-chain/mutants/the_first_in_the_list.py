"""The client hears of the first in the order, not of the quickest."""

KILLED_BY = "asks-all-at-once"
CAUSE = "listed-first"
CHANGES = (
    (
        "    return min(refusals, key=lambda one: one[0])[1], max(times)",
        "    return refusals[0][1], max(times)",
    ),
)
