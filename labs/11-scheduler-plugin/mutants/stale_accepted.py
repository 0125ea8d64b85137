"""No age limit: the last word of an agent that died at noon is believed for ever."""

KILLED_BY = "old-reports-do-not-count"
CAUSE = "stale-accepted"
CHANGES = (
    (
        "        return int(text) if age_ms <= self.max_age_ms else None",
        "        return int(text)",
    ),
)
