"""Every Pod gets a node of its own."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "one-each"
CHANGES = (
    (
        'if pod["cpu"] <= left), None)',
        'if pod["cpu"] < 0), None)',
    ),
)
