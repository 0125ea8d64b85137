"""At the very revision of a write, a read in the past returns what was there before it."""

KILLED_BY = "the-past-stays"
CAUSE = "stale"
CHANGES = (
    (
        "                newest = max(one for one in life if one <= at)\n",
        "                older = [one for one in life if one < at or at == self.revision]\n"
        "                newest = max(older or life[:1])\n",
    ),
)
