"""The filled-in Pods may turn a scale-up into a scale-down."""

KILLED_BY = "counts-the-missing"
CAUSE = "turned"
CHANGES = (
    (
        "    if (used - target) * (after - target) < 0:\n        return current\n",
        "",
    ),
)
