"""'-5' is taken for no number: a minus is no digit."""

KILLED_BY = "silence-is-a-no"
CAUSE = "cold-rejected"
CHANGES = (
    (
        'text.removeprefix("-").isdigit()',
        "text.isdigit()",
    ),
)
