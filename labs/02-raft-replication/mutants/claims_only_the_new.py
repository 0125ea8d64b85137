"""A heartbeat is answered with 0: nothing new was added."""

KILLED_BY = "says-how-far"
CAUSE = "claims-less"
CHANGES = (
    (
        "        return True, last_compared",
        "        return True, last_compared if entries else 0",
    ),
)
