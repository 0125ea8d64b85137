"""The small ones take the places of the large ones."""

KILLED_BY = "finds-a-place"
CAUSE = "order"
CHANGES = (
    (
        '    for pod in sorted(moving, key=lambda pod: -pod["cpu"]):',
        "    for pod in moving:",
    ),
)
