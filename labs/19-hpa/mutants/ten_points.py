"""The tolerance is taken as ten percentage points: of a target of 20 that is half."""

KILLED_BY = "leaves-small-differences-alone"
CAUSE = "points"
CHANGES = (
    (
        "    if 9 * target <= 10 * used <= 11 * target:\n",
        "    if abs(used - target) <= 10:\n",
    ),
)
