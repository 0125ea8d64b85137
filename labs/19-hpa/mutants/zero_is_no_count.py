"""A proposal of 0 is taken for a metric that failed."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "zero"
CHANGES = (
    (
        "    there = [one for one in proposals if one is not None]\n",
        "    there = [one for one in proposals if one]\n",
    ),
)
