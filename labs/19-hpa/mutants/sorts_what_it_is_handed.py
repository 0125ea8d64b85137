"""The caller's list is put in order on the way."""

KILLED_BY = "rounds-up"
CAUSE = "changes"
CHANGES = (
    (
        "    used = sum(usages) // len(usages)\n    if 9",
        "    usages.sort()\n    used = sum(usages) // len(usages)\n    if 9",
    ),
)
