"""The search goes from the highest address down."""

KILLED_BY = "goes-round"
CAUSE = "from-the-end"
CHANGES = (
    (
        "        for address in free:",
        "        for address in reversed(free):",
    ),
)
