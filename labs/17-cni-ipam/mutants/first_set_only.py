"""Only the first range set gives an address: no IPv6 on a dual-stack node."""

KILLED_BY = "no-address-twice"
CAUSE = "one-of-each"
CHANGES = (
    (
        '            for number, ranges in enumerate(config["ranges"]):',
        '            for number, ranges in enumerate(config["ranges"][:1]):',
    ),
)
