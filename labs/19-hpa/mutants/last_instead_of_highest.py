"""The newest recommendation counts: no window at all."""

KILLED_BY = "remembers-the-highest"
CAUSE = "last"
CHANGES = (
    (
        "        return max(count for _, count in self.told)\n",
        "        return asked\n",
    ),
)
