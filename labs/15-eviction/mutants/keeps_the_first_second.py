"""Since when is kept from look to look, and never forgotten."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "no-break"
CHANGES = (
    (
        "        self.since, self.due = hold(self.thresholds, low, self.since, now)\n",
        "        fresh, self.due = hold(self.thresholds, low, self.since, now)\n"
        "        self.since = {**self.since, **fresh}\n",
    ),
)
