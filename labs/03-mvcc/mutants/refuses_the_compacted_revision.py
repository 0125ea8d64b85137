"""The compacted revision itself cannot be read."""

KILLED_BY = "refuses-the-compacted"
CAUSE = "refuses"
CHANGES = (
    (
        "revision < self.compact_revision:",
        "revision <= self.compact_revision:",
    ),
)
