"""A file without content counts as a free address."""

KILLED_BY = "writes-it-down"
CAUSE = "torn"
CHANGES = (
    (
        "            if address not in self.files:",
        "            if not self.files.get(address):",
    ),
)
