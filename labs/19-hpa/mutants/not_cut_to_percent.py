"""The mean keeps its fraction, and the band ends elsewhere."""

KILLED_BY = "leaves-small-differences-alone"
CAUSE = "not-truncated"
CHANGES = (
    (
        "    used = sum(usages) // len(usages)\n    if 9",
        "    used = sum(usages) / len(usages)\n    if 9",
    ),
    (
        "    return -(-used * len(usages) // target)\n",
        "    return int(-(-used * len(usages) // target))\n",
    ),
)
