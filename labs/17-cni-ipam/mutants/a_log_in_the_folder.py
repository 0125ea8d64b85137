"""The plugin keeps a file of its own among the leases."""

KILLED_BY = "writes-it-down"
CAUSE = "extra"
CHANGES = (
    (
        "                self.files[note] = address\n",
        '                self.files[note] = address\n                self.files["log"] = key\n',
    ),
)
