"""Rounded down: a load for 14.3 Pods gets 14."""

KILLED_BY = "rounds-up"
CAUSE = "floor"
CHANGES = (
    (
        "    return -(-used * len(usages) // target)\n",
        "    return used * len(usages) // target\n",
    ),
)
