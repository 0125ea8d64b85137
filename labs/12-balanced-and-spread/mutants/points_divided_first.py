"""Divided before it is multiplied: everybody has 0 or 100."""

KILLED_BY = "the-least-crowded-wins"
CAUSE = "division"
CHANGES = (
    (
        "100 * (high + low - crowd) // high",
        "(high + low - crowd) // high * 100",
    ),
)
