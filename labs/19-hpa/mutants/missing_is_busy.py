"""On the way up, too, missing Pods count as busy."""

KILLED_BY = "counts-the-missing"
CAUSE = "whole"
CHANGES = (
    (
        "        counted += [0] * (missing + starting)\n",
        "        counted += [100] * (missing + starting)\n",
    ),
)
