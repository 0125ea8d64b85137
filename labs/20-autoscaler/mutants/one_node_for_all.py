"""Divides by one machine, however many there are."""

KILLED_BY = "wastes-least"
CAUSE = "per-node"
CHANGES = (
    (
        '1 - one["used"] / (one["nodes"] * one["cpu"])',
        'one["cpu"] - one["used"]',
    ),
)
