"""A member that is asked again has waited for no time at all: while members come, no wait ends."""

KILLED_BY = "no-deadlock"
CAUSE = "deadlock"
CHANGES = (
    (
        "        self.waits.setdefault(pod, (gang, now_ms))",
        "        self.waits[pod] = (gang, now_ms)",
    ),
)
