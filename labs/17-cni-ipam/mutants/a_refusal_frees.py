"""The second ADD fails, and its cleaning up takes the address of the first."""

KILLED_BY = "one-each"
CAUSE = "frees-others"
CHANGES = (
    (
        "        if key in self.files.values():\n            raise",
        "        if key in self.files.values():\n            self.delete(config, container, ifname)\n            raise",
    ),
)
