"""What was crossed is handed on as if it had been acted on."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "minimum-too-soon"
CHANGES = (
    (
        "        low = crossed(self.thresholds, free, self.due)\n",
        "        low = crossed(self.thresholds, free, list(self.since))\n",
    ),
)
