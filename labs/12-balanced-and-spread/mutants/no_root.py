"""The variance is taken for the deviation: differences look smaller than they are."""

KILLED_BY = "measures-balance"
CAUSE = "variance"
CHANGES = (
    (
        "(squares / len(shares)) ** 0.5",
        "(squares / len(shares))",
    ),
)
