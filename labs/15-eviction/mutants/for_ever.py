"""Once under pressure, always under pressure."""

KILLED_BY = "keeps-the-pressure"
CAUSE = "for-ever"
CHANGES = (
    (
        "        return self.seen is not None and now - self.seen < self.period\n",
        "        return self.seen is not None\n",
    ),
)
