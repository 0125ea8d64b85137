"""The gateway is taken to be .1, whatever the configuration says."""

KILLED_BY = "keeps-to-its-part"
CAUSE = "gateway"
CHANGES = (
    (
        'gateway = ip_address(given.get("gateway", subnet[1]))',
        "gateway = subnet[1]",
    ),
)
