"""Whoever has a budget is protected, however much it allows."""

KILLED_BY = "counts-budgets-down"
CAUSE = "all-protected"
CHANGES = (
    (
        "        if left.get(app, 0) < 0:",
        "        if app in left:",
    ),
)
