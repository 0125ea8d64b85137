"""One that is exactly as old as the window is forgotten."""

KILLED_BY = "remembers-the-highest"
CAUSE = "edge"
CHANGES = (
    (
        "        self.told = [one for one in self.told if now - one[0] <= self.seconds]\n",
        "        self.told = [one for one in self.told if now - one[0] < self.seconds]\n",
    ),
)
