"""Removes in the order of age."""

KILLED_BY = "waits-its-time"
CAUSE = "oldest"
CHANGES = (
    (
        "    for name in unneeded:\n        group",
        "    for name in sorted(unneeded, key=lambda one: since[one]):\n        group",
    ),
)
