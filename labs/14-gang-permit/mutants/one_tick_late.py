"""A wait that is over now is not over yet."""

KILLED_BY = "waits-end"
CAUSE = "never-ends"
CHANGES = (
    (
        "if now_ms - since >= self.wait_ms}",
        "if now_ms - since > self.wait_ms}",
    ),
)
