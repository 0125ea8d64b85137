"""`rangeEnd` is not looked at."""

KILLED_BY = "keeps-to-its-part"
CAUSE = "outside"
CHANGES = (
    (
        '    last = ip_address(given.get("rangeEnd", last))\n',
        "",
    ),
)
