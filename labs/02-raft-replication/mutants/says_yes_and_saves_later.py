"""What it confirms is in memory only."""

KILLED_BY = "saved-before-it-says-yes"
CAUSE = "unsaved"
CHANGES = (
    (
        "                self.disk.save(self.entries)\n                break",
        "                break",
    ),
)
