"""One missing metric silences the others: nothing grows any more."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "stops"
CHANGES = (
    (
        "    if len(there) < len(proposals) and best < current:\n",
        "    if len(there) < len(proposals):\n",
    ),
)
