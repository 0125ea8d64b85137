"""Budgets are counted, and do not decide who comes back first."""

KILLED_BY = "spares-the-protected"
CAUSE = "budgets"
CHANGES = (
    (
        "for one in breaking + others:",
        "for one in by_importance(breaking + others):",
    ),
)
