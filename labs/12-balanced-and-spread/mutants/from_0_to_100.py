"""The largest crowd always gets 0: another plugin's formula."""

KILLED_BY = "the-least-crowded-wins"
CAUSE = "min-max"
CHANGES = (
    (
        "100 * (high + low - crowd) // high",
        "100 * (high - crowd) // max(1, high - low)",
    ),
)
