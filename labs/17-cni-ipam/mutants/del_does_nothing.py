"""DEL succeeds and leaves the file where it is."""

KILLED_BY = "gives-back"
CAUSE = "not-freed"
CHANGES = (
    (
        "            del self.files[name]",
        "            continue",
    ),
)
