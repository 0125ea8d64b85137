"""The condition waits for the grace period, too."""

KILLED_BY = "keeps-the-pressure"
CAUSE = "after-the-grace"
CHANGES = (
    (
        "        if low:\n"
        "            self.seen = now\n"
        "        self.since, self.due = hold(self.thresholds, low, self.since, now)\n",
        "        self.since, self.due = hold(self.thresholds, low, self.since, now)\n"
        "        if self.due:\n"
        "            self.seen = now\n",
    ),
)
