"""Beside the gateway of the configuration .1 is left out, too: an address less on every node."""

KILLED_BY = "keeps-to-its-part"
CAUSE = "two-gateways"
CHANGES = (
    (
        " if one != gateway]",
        " if one not in (gateway, subnet[1])]",
    ),
)
