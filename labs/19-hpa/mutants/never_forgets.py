"""Nothing is ever forgotten: the count never falls."""

KILLED_BY = "remembers-the-highest"
CAUSE = "for-ever"
CHANGES = (
    (
        "        self.told = [one for one in self.told if now - one[0] <= self.seconds]\n",
        "",
    ),
)
