"""A metric that failed asks for 0."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "failing-is-zero"
CHANGES = (
    (
        "    there = [one for one in proposals if one is not None]\n",
        "    there = [one or 0 for one in proposals]\n",
    ),
)
