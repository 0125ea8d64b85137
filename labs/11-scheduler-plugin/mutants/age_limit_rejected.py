"""A report that is exactly as old as it may be does not count."""

KILLED_BY = "old-reports-do-not-count"
CAUSE = "age-limit-rejected"
CHANGES = (
    (
        "        return int(text) if age_ms <= self.max_age_ms else None",
        "        return int(text) if age_ms < self.max_age_ms else None",
    ),
)
