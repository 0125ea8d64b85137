"""Priorities are summed without the 2**31: two victims at -10 are cheaper than one."""

KILLED_BY = "compares-column-by-column"
CAUSE = "plain-sum"
CHANGES = (
    (
        " + 2**31 for one",
        " for one",
    ),
)
