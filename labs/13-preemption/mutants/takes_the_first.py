"""Where four columns are equal the first Node is taken: nobody asks how long the victims have run."""

KILLED_BY = "compares-column-by-column"
CAUSE = "no-start"
CHANGES = (
    (
        '            -min(one["started"] for one in victims if one["priority"] == highest),\n',
        "",
    ),
)
