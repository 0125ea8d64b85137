"""What was given last is kept in the class, which is gone with the process: the search begins anew each time."""

KILLED_BY = "goes-round"
CAUSE = "from-the-start"
CHANGES = (
    (
        "        if self.files.get(note) in free:",
        "        if getattr(HostLocal, note, '') in free:",
    ),
    (
        "            at = free.index(self.files[note]) + 1",
        "            at = free.index(getattr(HostLocal, note)) + 1",
    ),
    (
        "                self.files[note] = address",
        "                self.files[note] = address\n                setattr(HostLocal, note, address)",
    ),
)
