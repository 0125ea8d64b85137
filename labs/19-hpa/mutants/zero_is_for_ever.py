"""A window of 0 seconds never forgets."""

KILLED_BY = "remembers-the-highest"
CAUSE = "zero"
CHANGES = (
    (
        "        self.told = [one for one in self.told if now - one[0] <= self.seconds]\n",
        "        self.told = [one for one in self.told if not self.seconds or now - one[0] <= self.seconds]\n",
    ),
)
