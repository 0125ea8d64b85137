"""The Node whose victims started first is taken: most work is lost."""

KILLED_BY = "compares-column-by-column"
CAUSE = "earliest"
CHANGES = (
    (
        "            -min(one",
        "            min(one",
    ),
)
