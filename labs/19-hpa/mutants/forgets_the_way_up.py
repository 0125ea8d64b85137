"""Missing Pods are filled in on the way down only."""

KILLED_BY = "counts-the-missing"
CAUSE = "left-out"
CHANGES = (
    (
        "    if used > target:\n        counted += [0] * (missing + starting)\n    elif used < target:\n",
        "    if used < target:\n",
    ),
)
