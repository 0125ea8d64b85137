"""What was acted on stays crossed for ever."""

KILLED_BY = "crosses-below"
CAUSE = "stays"
CHANGES = (
    (
        "        if free < bound:",
        '        if free < bound or one["name"] in before:',
    ),
)
