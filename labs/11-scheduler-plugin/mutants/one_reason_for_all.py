"""Hot and silent say the same: nobody knows whether to mend the cooling or the agent."""

KILLED_BY = "reasons-can-be-counted"
CAUSE = "one-reason"
CHANGES = (
    (
        'f"node(s) had a GPU above {self.most} degrees"',
        '"node(s) had no recent GPU temperature"',
    ),
)
