"""A read returns keys in the order in which they were first put."""

KILLED_BY = "intervals"
CAUSE = "order"
CHANGES = (
    (
        "sorted(self.index)",
        "self.index",
    ),
)
