"""Estimates for all Pods that wait, though some fit on nodes that are there."""

KILLED_BY = "buys-what-is-missing"
CAUSE = "nodes"
CHANGES = (
    (
        "            left.append(pod)\n",
        "            left.append(pod)\n    left = list(pods)\n",
    ),
)
