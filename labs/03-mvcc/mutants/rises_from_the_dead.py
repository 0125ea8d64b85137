"""A read that meets a tombstone goes on to the record before it."""

KILLED_BY = "a-delete-ends-a-life"
CAUSE = "tombstone-visible"
CHANGES = (
    (
        "                newest = max(one for one in life if one <= at)\n",
        "                newest = max(one for one in life if one <= at and self.backend[one, key].version)\n",
    ),
)
