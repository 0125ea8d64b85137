"""The number of victims is asked second: one important Pod is killed where two unimportant ones would do."""

KILLED_BY = "compares-column-by-column"
CAUSE = "count-first"
CHANGES = (
    (
        "            highest,\n",
        "            len(victims),\n            highest,\n",
    ),
)
