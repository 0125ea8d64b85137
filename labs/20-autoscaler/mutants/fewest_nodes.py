"""Least nodes, whatever they cost."""

KILLED_BY = "wastes-least"
CAUSE = "fewest"
CHANGES = (
    (
        '1 - one["used"] / (one["nodes"] * one["cpu"])',
        'one["nodes"]',
    ),
)
