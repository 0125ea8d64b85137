"""The difference from 1 in floats: 1.1 is a hair outside."""

KILLED_BY = "leaves-small-differences-alone"
CAUSE = "edges"
CHANGES = (
    (
        "    if 9 * target <= 10 * used <= 11 * target:\n",
        "    if abs(1 - used / target) <= 0.1:\n",
    ),
)
