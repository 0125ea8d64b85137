"""DEL removes the note of the last address, too."""

KILLED_BY = "goes-round"
CAUSE = "from-the-start"
CHANGES = (
    (
        "            del self.files[name]",
        '            del self.files[name]\n            self.files.pop("last_reserved_ip.0", None)',
    ),
)
