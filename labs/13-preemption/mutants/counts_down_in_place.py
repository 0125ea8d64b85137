"""The budgets themselves are counted down: the next Node finds them used up."""

KILLED_BY = "counts-budgets-down"
CAUSE = "changes"
CHANGES = (
    (
        "    left = dict(budgets)\n",
        "    left = budgets\n",
    ),
)
