"""Among equals the youngest counts as more important: the longest running are killed."""

KILLED_BY = "knows-who-matters"
CAUSE = "newest-first"
CHANGES = (
    (
        '(-pod["priority"], pod["started"])',
        '(-pod["priority"], -pod["started"])',
    ),
)
