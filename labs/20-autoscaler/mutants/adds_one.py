"""Chooses well, and adds one node."""

KILLED_BY = "buys-what-is-missing"
CAUSE = "one"
CHANGES = (
    (
        '    return chosen, next(one["nodes"] for one in options if one["group"] == chosen)',
        "    return chosen, 1",
    ),
)
