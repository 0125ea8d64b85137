"""`rangeStart` is not looked at: what the administrator kept for machines is given to Pods."""

KILLED_BY = "keeps-to-its-part"
CAUSE = "outside"
CHANGES = (
    (
        '    first = ip_address(given.get("rangeStart", first))\n',
        "",
    ),
)
