"""IPv6 loses its last address to a broadcast that it does not have."""

KILLED_BY = "knows-its-addresses"
CAUSE = "ipv6-last"
CHANGES = (
    (
        "subnet[-2] if subnet.version == 4 else subnet[-1]",
        "subnet[-2]",
    ),
)
