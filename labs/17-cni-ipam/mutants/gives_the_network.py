"""The first address of the subnet is given away: it names the network itself."""

KILLED_BY = "knows-its-addresses"
CAUSE = "network"
CHANGES = (
    (
        "first, last = subnet[1],",
        "first, last = subnet[0],",
    ),
)
