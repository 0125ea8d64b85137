"""The time is compared with the span: after wait_ms of running, every wait is over."""

KILLED_BY = "waits-end"
CAUSE = "too-soon"
CHANGES = (
    (
        "if now_ms - since >= self.wait_ms}",
        "if now_ms >= self.wait_ms}",
    ),
)
