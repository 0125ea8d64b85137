"""The largest crowd gets the most points: all Pods pile up in one place."""

KILLED_BY = "the-least-crowded-wins"
CAUSE = "turned"
CHANGES = (
    (
        "100 * (high + low - crowd) // high",
        "100 * crowd // high",
    ),
)
