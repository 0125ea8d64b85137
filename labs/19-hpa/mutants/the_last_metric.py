"""Whatever came last is taken."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "last"
CHANGES = (
    (
        "    best = max(there)\n",
        "    best = there[-1]\n",
    ),
)
