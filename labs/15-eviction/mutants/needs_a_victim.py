"""A look that evicted nobody has acted on nothing."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "needs-a-victim"
CHANGES = (
    (
        "        return names[0] if self.due and names else None\n",
        "        if not names:\n            self.due = []\n        return names[0] if self.due and names else None\n",
    ),
)
