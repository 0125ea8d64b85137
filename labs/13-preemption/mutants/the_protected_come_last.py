"""Those with a budget come back last: the budget makes sure that they go."""

KILLED_BY = "spares-the-protected"
CAUSE = "budgets-last"
CHANGES = (
    (
        "for one in breaking + others:",
        "for one in others + breaking:",
    ),
)
