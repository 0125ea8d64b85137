"""Missing Pods are filled in on the way up only."""

KILLED_BY = "counts-the-missing"
CAUSE = "not-on-the-way-down"
CHANGES = (
    (
        "    elif used < target:\n        counted += [max(100, target)] * missing\n",
        "",
    ),
)
