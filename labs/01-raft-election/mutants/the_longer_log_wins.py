"""It compares lengths first, and terms only of logs that are equally long.

An old leader that wrote much and committed nothing wins over one that knows what counts.
"""

KILLED_BY = "newer-logs-only"
CAUSE = "by-length"
CHANGES = (
    (
        "(last_term, last_index) >= (self.log.last_term, self.log.last_index)",
        "(last_index, last_term) >= (self.log.last_index, self.log.last_term)",
    ),
)
