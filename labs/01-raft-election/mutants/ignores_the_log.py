"""It votes for whoever asks first, whatever that candidate knows.

A leader without a committed entry makes all others forget it.
"""

KILLED_BY = "newer-logs-only"
CAUSE = "ignores-the-log"
CHANGES = (
    (
        "        is_new_enough = (last_term, last_index) >= (self.log.last_term, self.log.last_index)",
        "        is_new_enough = True",
    ),
)
