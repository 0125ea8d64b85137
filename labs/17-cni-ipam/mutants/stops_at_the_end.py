"""Behind the last address the search does not begin again: a range is used up once and for all."""

KILLED_BY = "goes-round"
CAUSE = "refuses"
CHANGES = (
    (
        "free = free[at:] + free[:at]",
        "free = free[at:]",
    ),
)
