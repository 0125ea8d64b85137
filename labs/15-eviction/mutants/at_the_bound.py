"""At its bound a threshold counts as crossed."""

KILLED_BY = "crosses-below"
CAUSE = "inclusive"
CHANGES = (
    (
        "        if free < bound:",
        "        if free <= bound:",
    ),
)
