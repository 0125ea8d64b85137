"""A leader counts itself, and has its own entries in memory only."""

KILLED_BY = "survives-crashes"
CAUSE = "differs"
CHANGES = (
    (
        "        self.entries.append((term, command))\n        self.disk.save(self.entries)",
        "        self.entries.append((term, command))",
    ),
)
