"""The budget is read and not used up: the tenth eviction meets the same 1 as the first."""

KILLED_BY = "counts-budgets-down"
CAUSE = "never-counts"
CHANGES = (
    (
        "            left[app] -= 1\n",
        "            left[app] = budgets[app] - 1\n",
    ),
)
