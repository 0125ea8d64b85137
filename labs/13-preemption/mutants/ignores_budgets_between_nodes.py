"""The first column is left out: a budget is broken although another Node has somebody without one."""

KILLED_BY = "compares-column-by-column"
CAUSE = "budgets"
CHANGES = (
    (
        '            candidate["violations"],\n',
        "",
    ),
)
