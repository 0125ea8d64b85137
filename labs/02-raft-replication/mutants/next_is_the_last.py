"""A new leader sets next to its last entry instead of the one behind it: it sends an entry that everybody has."""

KILLED_BY = "sends-what-is-missing"
CAUSE = "first-elsewhere"
CHANGES = (
    (
        "{other: last_index + 1 for other in others}",
        "{other: max(1, last_index) for other in others}",
    ),
)
