"""A metric that failed is left out: CPU is idle, so the queue's Pods go."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "goes-down"
CHANGES = (
    (
        "    if len(there) < len(proposals) and best < current:\n        return None\n",
        "",
    ),
)
