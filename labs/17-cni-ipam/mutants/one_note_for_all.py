"""There is one note of the last address for all range sets."""

KILLED_BY = "writes-it-down"
CAUSE = "last"
CHANGES = (
    (
        'note = ip_network(given["subnet"]), f"last_reserved_ip.{number}"',
        'note = ip_network(given["subnet"]), "last_reserved_ip"',
    ),
)
