"""The bridge's own address goes to a Pod: the node's whole network loses its way out."""

KILLED_BY = "knows-its-addresses"
CAUSE = "gateway"
CHANGES = (
    (
        " if one != gateway]",
        "]",
    ),
)
