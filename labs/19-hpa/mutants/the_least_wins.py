"""The least proposal wins."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "least"
CHANGES = (
    (
        "    best = max(there)\n",
        "    best = min(there)\n",
    ),
)
