"""Only the first metric is heard."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "first"
CHANGES = (
    (
        "    best = max(there)\n",
        "    best = there[0]\n",
    ),
)
