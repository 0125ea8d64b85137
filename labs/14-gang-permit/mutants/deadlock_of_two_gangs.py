"""Nobody's wait ever ends: two gangs that hold half each hold it for ever."""

KILLED_BY = "no-deadlock"
CAUSE = "deadlock"
CHANGES = (
    (
        "        return [pod for gang in sorted(late) for pod in self.send_back(gang)]",
        "        return []",
    ),
)
