"""A container has an address already when one has whose id begins with its own."""

KILLED_BY = "one-each"
CAUSE = "refuses"
CHANGES = (
    (
        "        if key in self.files.values():",
        "        if any(one.startswith(container) and one.endswith(ifname) for one in self.files.values()):",
    ),
)
