"""It only votes for a candidate that knows more than itself.

At the first start all logs are empty, and nobody wins.
"""

KILLED_BY = "newer-logs-only"
CAUSE = "refuses-equals"
CHANGES = (
    (
        "(last_term, last_index) >= (self.log",
        "(last_term, last_index) > (self.log",
    ),
)
