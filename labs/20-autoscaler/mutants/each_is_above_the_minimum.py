"""Asks for each node whether the group is above its minimum, and removes both."""

KILLED_BY = "waits-its-time"
CAUSE = "min-each"
CHANGES = (
    (
        "            left[group] -= 1\n",
        "",
    ),
)
