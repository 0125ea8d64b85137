"""The reason names the temperature: 500 hot nodes are dozens of reasons in one event."""

KILLED_BY = "reasons-can-be-counted"
CAUSE = "values-in-reason"
CHANGES = (
    (
        'f"node(s) had a GPU above {self.most} degrees"',
        'f"node had a GPU at {celsius} degrees"',
    ),
)
