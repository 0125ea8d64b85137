"""One round too many."""

KILLED_BY = "asks-again-once"
CAUSE = "thrice"
CHANGES = (
    (
        "    for is_second in (False, True):\n",
        "    for is_second in (False, True, True):\n",
    ),
)
