"""The manager sorts the list of thresholds that it was handed."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "changes"
CHANGES = (
    (
        "        self.thresholds = thresholds\n",
        '        thresholds.sort(key=lambda one: -one["below"])\n        self.thresholds = thresholds\n',
    ),
)
