"""It compares the last terms, and forgets the lengths."""

KILLED_BY = "newer-logs-only"
CAUSE = "shorter"
CHANGES = (
    (
        "(last_term, last_index) >= (self.log.last_term, self.log.last_index)",
        "last_term >= self.log.last_term",
    ),
)
