"""The search begins with the lowest address each time: who just left is followed at once."""

KILLED_BY = "goes-round"
CAUSE = "from-the-start"
CHANGES = (
    (
        "        if self.files.get(note) in free:",
        "        if False:",
    ),
)
