"""The first refusal ends the waiting."""

KILLED_BY = "asks-all-at-once"
CAUSE = "leaves-early"
CHANGES = (
    (
        "    return min(refusals, key=lambda one: one[0])[1], max(times)",
        "    quickest = min(refusals, key=lambda one: one[0])\n    return quickest[1], quickest[0]",
    ),
)
