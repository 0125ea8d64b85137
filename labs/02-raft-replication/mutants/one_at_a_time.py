"""Each message carries one entry: a hundred commands take a hundred round trips."""

KILLED_BY = "few-messages"
CAUSE = "slow"
CHANGES = (
    (
        "entries = self.log.entries[prev_index:]",
        "entries = self.log.entries[prev_index : prev_index + 1]",
    ),
)
