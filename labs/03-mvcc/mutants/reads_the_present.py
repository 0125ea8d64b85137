"""A read at an old revision returns the present."""

KILLED_BY = "the-past-stays"
CAUSE = "from-the-future"
CHANGES = (
    (
        "        at = revision or self.revision\n",
        "        at = self.revision\n",
    ),
)
