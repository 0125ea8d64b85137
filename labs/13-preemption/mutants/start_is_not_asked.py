"""Only the priority: among equals the order of a list decides who dies."""

KILLED_BY = "knows-who-matters"
CAUSE = "priority-alone"
CHANGES = (
    (
        '(-pod["priority"], pod["started"])',
        '-pod["priority"]',
    ),
)
