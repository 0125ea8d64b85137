"""When one gang's time is over all gangs are sent back."""

KILLED_BY = "back-together"
CAUSE = "others"
CHANGES = (
    (
        "        late = {gang for gang, since in self.waits.values() if now_ms - since >= self.wait_ms}",
        (
            "        over = any(now_ms - since >= self.wait_ms for _, since in self.waits.values())\n"
            "        late = {gang for gang, _ in self.waits.values() if over}"
        ),
    ),
)
