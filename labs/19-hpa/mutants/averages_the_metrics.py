"""The proposals are averaged: an idle CPU halves what the queue needs."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "mean"
CHANGES = (
    (
        "    best = max(there)\n",
        "    best = -(-sum(there) // len(there))\n",
    ),
)
