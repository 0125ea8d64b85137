"""Where nothing may be done it says the present count, and no condition is ever set."""

KILLED_BY = "never-goes-down-blind"
CAUSE = "keeps"
CHANGES = (
    (
        "    if not there:\n        return None\n",
        "    if not there:\n        return current\n",
    ),
    (
        "    if len(there) < len(proposals) and best < current:\n        return None\n",
        "    if len(there) < len(proposals) and best < current:\n        return current\n",
    ),
)
