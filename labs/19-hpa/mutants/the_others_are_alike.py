"""Pods without a sample are taken to be like the others."""

KILLED_BY = "counts-the-missing"
CAUSE = "alike"
CHANGES = (
    (
        "        counted += [0] * (missing + starting)\n",
        "        counted += [used] * (missing + starting)\n",
    ),
    (
        "        counted += [max(100, target)] * missing\n",
        "        counted += [used] * (missing + starting)\n",
    ),
)
