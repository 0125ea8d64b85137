"""The victims in the order in which they were turned away: the first is not the most important."""

KILLED_BY = "spares-the-protected"
CAUSE = "victims-order"
CHANGES = (
    (
        "    return by_importance(victims), violations",
        "    return victims, violations",
    ),
)
