"""A gang that ran once is taken to run for ever, whoever is gone."""

KILLED_BY = "one-is-gone"
CAUSE = "stale"
CHANGES = (
    (
        "        self.goes = {}  # pod -> its gang\n",
        "        self.goes = {}  # pod -> its gang\n        self.started = set()\n",
    ),
    (
        "        if self.count(gang) < need:\n            return []\n",
        "        if gang not in self.started and self.count(gang) < need:\n            return []\n"
        "        self.started.add(gang)\n",
    ),
)
