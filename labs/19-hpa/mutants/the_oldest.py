"""The oldest of the window, as if it were a delay."""

KILLED_BY = "remembers-the-highest"
CAUSE = "first"
CHANGES = (
    (
        "        return max(count for _, count in self.told)\n",
        "        return self.told[0][1]\n",
    ),
)
