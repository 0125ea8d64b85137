"""The busiest Pod stands for all."""

KILLED_BY = "rounds-up"
CAUSE = "highest"
CHANGES = (
    (
        "    used = sum(usages) // len(usages)\n    if 9",
        "    used = max(usages)\n    if 9",
    ),
)
