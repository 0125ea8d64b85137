"""What was given last is kept in a default argument, which is gone with the process."""

KILLED_BY = "goes-round"
CAUSE = "from-the-start"
CHANGES = (
    (
        "    def take(self, key, number, given):",
        "    def take(self, key, number, given, last={}):",
    ),
    (
        "        if self.files.get(note) in free:",
        "        if last.get(note) in free:",
    ),
    (
        "            at = free.index(self.files[note]) + 1",
        "            at = free.index(last[note]) + 1",
    ),
    (
        "                self.files[note] = address",
        "                self.files[note] = last[note] = address",
    ),
)
