"""Everybody whose loss would break a budget is counted, also who stays."""

KILLED_BY = "spares-the-protected"
CAUSE = "violations"
CHANGES = (
    (
        "    return by_importance(victims), violations",
        "    return by_importance(victims), len(breaking)",
    ),
)
