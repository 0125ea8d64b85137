"""The delay doubles without end: after 30 failures a key waits for two months."""

KILLED_BY = "backs-off"
CAUSE = "cap"
CHANGES = (
    (
        "        return min(self.base_ms * 2**failures, self.most_ms)",
        "        return self.base_ms * 2**failures",
    ),
)
