"""The mean distance from the mean: right for two resources, not for three."""

KILLED_BY = "measures-balance"
CAUSE = "distance"
CHANGES = (
    (
        "sum((share - mean) ** 2 for share in shares)",
        "sum(abs(share - mean) for share in shares)",
    ),
    (
        "(squares / len(shares)) ** 0.5",
        "squares / len(shares)",
    ),
)
