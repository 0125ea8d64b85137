"""Whom it may evict is settled at the first look."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "old-pods"
CHANGES = (
    (
        "        self.seen = None\n",
        "        self.seen = None\n        self.first = None\n",
    ),
    (
        "        low = crossed(",
        '        self.first = self.first or [pod["name"] for pod in pods]\n'
        '        pods = [pod for pod in pods if pod["name"] in self.first]\n'
        "        low = crossed(",
    ),
)
