"""DEL frees the first address that it finds: of two families one stays taken."""

KILLED_BY = "all-or-nothing"
CAUSE = "refuses"
CHANGES = (
    (
        "            del self.files[name]",
        "            del self.files[name]\n            return",
    ),
)
