"""Exactly 600 seconds are enough."""

KILLED_BY = "waits-its-time"
CAUSE = "exactly"
CHANGES = (
    (
        "> 600",
        ">= 600",
    ),
)
