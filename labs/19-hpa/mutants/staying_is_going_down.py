"""Staying at the present count is refused, too, while a metric is missing."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "equal-too"
CHANGES = (
    (
        "    if len(there) < len(proposals) and best < current:\n",
        "    if len(there) < len(proposals) and best <= current:\n",
    ),
)
