"""Whatever is off the target is acted on: the count goes up and down by one all day."""

KILLED_BY = "leaves-small-differences-alone"
CAUSE = "no-tolerance"
CHANGES = (
    (
        "    if 9 * target <= 10 * used <= 11 * target:\n",
        "    if used == target:\n",
    ),
)
