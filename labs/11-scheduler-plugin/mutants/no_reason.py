"""A rejection without a word."""

KILLED_BY = "reasons-can-be-counted"
CAUSE = "no-reason"
CHANGES = (
    (
        'Code.UNSCHEDULABLE, f"node(s) had a GPU above {self.most} degrees"',
        'Code.UNSCHEDULABLE, ""',
    ),
)
