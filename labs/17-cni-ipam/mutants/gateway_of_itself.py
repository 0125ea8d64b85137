"""The network's own address is answered as the gateway."""

KILLED_BY = "answers-the-runtime"
CAUSE = "gateway"
CHANGES = (
    (
        'gateway = given.get("gateway", str(subnet[1]))',
        'gateway = given.get("gateway", str(subnet[0]))',
    ),
)
