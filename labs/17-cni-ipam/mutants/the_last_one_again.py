"""The search begins with the last one that was given instead of the one behind it."""

KILLED_BY = "goes-round"
CAUSE = "from-the-start"
CHANGES = (
    (
        "at = free.index(self.files[note]) + 1",
        "at = free.index(self.files[note])",
    ),
)
