"""It measures how full the Node is, not how evenly."""

KILLED_BY = "measures-balance"
CAUSE = "fullness"
CHANGES = (
    (
        "(1 - (squares / len(shares)) ** 0.5)",
        "(1 - mean)",
    ),
)
