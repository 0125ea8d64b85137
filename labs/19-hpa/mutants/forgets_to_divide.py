"""The sum of the usages is taken for the usage: the Pods count twice."""

KILLED_BY = "rounds-up"
CAUSE = "sum"
CHANGES = (
    (
        "    used = sum(usages) // len(usages)\n    if 9",
        "    used = sum(usages)\n    if 9",
    ),
)
