"""The newest key comes out first. Under load the oldest never does."""

KILLED_BY = "first-in-first-out"
CAUSE = "order"
CHANGES = (
    (
        "self.queue.pop(0)",
        "self.queue.pop()",
    ),
)
