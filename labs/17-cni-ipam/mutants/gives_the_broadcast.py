"""The last address of an IPv4 subnet is given away."""

KILLED_BY = "knows-its-addresses"
CAUSE = "broadcast"
CHANGES = (
    (
        "subnet[-2] if subnet.version == 4 else subnet[-1]",
        "subnet[-1]",
    ),
)
