"""Takes whichever group is named first."""

KILLED_BY = "wastes-least"
CAUSE = "first"
CHANGES = (
    (
        'min(options, key=lambda one: 1 - one["used"] / (one["nodes"] * one["cpu"]))',
        "options[0]",
    ),
)
