"""propose gives the index before the entry: indexes begin with 0 for it."""

KILLED_BY = "sends-what-is-missing"
CAUSE = "other-index"
CHANGES = (
    (
        "        return len(self.entries)\n",
        "        return len(self.entries) - 1\n",
    ),
)
