"""An over-full resource takes points away from the others."""

KILLED_BY = "prefers-the-empty"
CAUSE = "over-full"
CHANGES = (
    (
        "max(0, has - used)",
        "has - used",
    ),
)
