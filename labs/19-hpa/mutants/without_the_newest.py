"""What is asked for now is not in the window: a burst is answered a round late."""

KILLED_BY = "remembers-the-highest"
CAUSE = "before"
CHANGES = (
    (
        "        return max(count for _, count in self.told)\n",
        "        return max([count for _, count in self.told[:-1]] or [asked])\n",
    ),
)
