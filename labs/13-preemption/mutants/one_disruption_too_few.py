"""A budget that allows 1 is broken by the first."""

KILLED_BY = "counts-budgets-down"
CAUSE = "one-too-few"
CHANGES = (
    (
        "left.get(app, 0) < 0",
        "left.get(app, 1) < 1",
    ),
)
