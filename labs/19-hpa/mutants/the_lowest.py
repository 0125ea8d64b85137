"""The lowest of the window: the first quiet round takes everything away."""

KILLED_BY = "remembers-the-highest"
CAUSE = "last"
CHANGES = (
    (
        "        return max(count for _, count in self.told)\n",
        "        return min(count for _, count in self.told)\n",
    ),
)
