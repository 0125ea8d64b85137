"""Where nothing changes the answer is the Pods that were counted: those that start are taken away."""

KILLED_BY = "leaves-out-who-starts"
CAUSE = "counted-only"
CHANGES = (
    (
        "    if (used - target) * (after - target) < 0:\n",
        "    current = len(counted)\n    if (used - target) * (after - target) < 0:\n",
    ),
)
