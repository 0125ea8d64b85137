"""Rounded to the nearest: half of the time there is a Pod too few."""

KILLED_BY = "rounds-up"
CAUSE = "nearest"
CHANGES = (
    (
        "    return -(-used * len(usages) // target)\n",
        "    return int(used * len(usages) / target + 0.5)\n",
    ),
)
