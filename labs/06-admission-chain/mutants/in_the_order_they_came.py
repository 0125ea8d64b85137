"""In the order in which they were registered."""

KILLED_BY = "one-after-the-other"
CAUSE = "unsorted"
CHANGES = (
    (
        '    mutating.sort(key=lambda hook: hook["configuration"])\n',
        "",
    ),
)
