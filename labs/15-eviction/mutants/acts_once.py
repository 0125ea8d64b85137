"""What was acted on is over."""

KILLED_BY = "crosses-below"
CAUSE = "only-new"
CHANGES = (
    (
        "        if free < bound:",
        '        if free < one["below"] and one["name"] not in before:',
    ),
)
