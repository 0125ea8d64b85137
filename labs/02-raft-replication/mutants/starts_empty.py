"""After a start the log is empty, whatever is on the disk."""

KILLED_BY = "saved-before-it-says-yes"
CAUSE = "forgets"
CHANGES = (
    (
        "self.entries = disk.load()",
        "self.entries = []",
    ),
)
