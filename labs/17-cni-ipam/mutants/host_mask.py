"""The address is answered as a network of one: the Pod reaches no neighbour."""

KILLED_BY = "answers-the-runtime"
CAUSE = "address"
CHANGES = (
    (
        '{"address": f"{address}/{subnet.prefixlen}"',
        '{"address": f"{address}/32"',
    ),
)
