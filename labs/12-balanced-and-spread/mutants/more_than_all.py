"""A share above 1 stays above 1: an over-full Node looks less balanced than it is."""

KILLED_BY = "measures-balance"
CAUSE = "over-full"
CHANGES = (
    (
        "min(used / has, 1.0)",
        "used / has",
    ),
)
