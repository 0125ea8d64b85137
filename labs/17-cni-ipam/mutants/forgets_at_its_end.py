"""What is taken is kept in the object: the next run of the plugin gives it away again."""

KILLED_BY = "no-address-twice"
CAUSE = "duplicate"
CHANGES = (
    (
        "        self.files = files",
        "        self.files = dict(files)",
    ),
)
