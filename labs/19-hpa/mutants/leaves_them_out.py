"""Pods without a sample are left out of the sum."""

KILLED_BY = "counts-the-missing"
CAUSE = "left-out"
CHANGES = (
    (
        "        counted += [0] * (missing + starting)\n",
        "        pass\n",
    ),
    (
        "        counted += [max(100, target)] * missing\n",
        "        pass\n",
    ),
)
