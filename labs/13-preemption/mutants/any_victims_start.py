"""The start of any victim is asked, not that of the most important ones."""

KILLED_BY = "compares-column-by-column"
CAUSE = "earliest-of-all"
CHANGES = (
    (
        ' for one in victims if one["priority"] == highest),',
        " for one in victims),",
    ),
)
