"""Rounds until nothing changes any more: two that undo each other never end."""

KILLED_BY = "asks-again-once"
CAUSE = "for-ever"
CHANGES = (
    (
        "    for is_second in (False, True):\n",
        "    for is_second in (False, *[True] * 10):\n",
    ),
)
