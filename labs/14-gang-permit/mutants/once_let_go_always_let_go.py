"""Who was let go is remembered for ever: a Pod that lost its place and comes back goes alone."""

KILLED_BY = "one-is-gone"
CAUSE = "stale"
CHANGES = (
    (
        "        self.goes = {}  # pod -> its gang\n",
        "        self.goes = {}  # pod -> its gang\n        self.let_go = set()\n",
    ),
    (
        "        if pod in self.goes:\n",
        "        if pod in self.let_go:\n            self.goes[pod] = gang\n",
    ),
    (
        "            self.goes[one] = gang\n",
        "            self.goes[one] = gang\n            self.let_go.add(one)\n",
    ),
)
