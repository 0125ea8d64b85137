"""The share is divided before it is multiplied: every Node that holds anything scores 0."""

KILLED_BY = "prefers-the-empty"
CAUSE = "division"
CHANGES = (
    (
        "free * 100 // has * weight",
        "free // has * 100 * weight",
    ),
)
