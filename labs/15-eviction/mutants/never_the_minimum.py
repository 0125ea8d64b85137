"""What was acted on before is not handed on."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "no-minimum"
CHANGES = (
    (
        "        low = crossed(self.thresholds, free, self.due)\n",
        "        low = crossed(self.thresholds, free, [])\n",
    ),
)
