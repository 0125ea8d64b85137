"""The mean of the window: half of a burst."""

KILLED_BY = "remembers-the-highest"
CAUSE = "mean"
CHANGES = (
    (
        "        return max(count for _, count in self.told)\n",
        "        return -(-sum(count for _, count in self.told) // len(self.told))\n",
    ),
)
