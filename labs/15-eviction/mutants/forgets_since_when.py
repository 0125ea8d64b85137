"""Since when is not kept: every look is the first."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "restarts"
CHANGES = (
    (
        "hold(self.thresholds, low, self.since, now)",
        "hold(self.thresholds, low, {}, now)",
    ),
)
