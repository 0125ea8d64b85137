"""There is no second round."""

KILLED_BY = "asks-again-once"
CAUSE = "once"
CHANGES = (
    (
        "    for is_second in (False, True):\n",
        "    for is_second in (False,):\n",
    ),
)
