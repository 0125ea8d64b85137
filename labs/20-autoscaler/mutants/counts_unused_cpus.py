"""Compares unused CPUs instead of their share: small machines always win."""

KILLED_BY = "wastes-least"
CAUSE = "absolute"
CHANGES = (
    (
        '1 - one["used"] / (one["nodes"] * one["cpu"])',
        'one["nodes"] * one["cpu"] - one["used"]',
    ),
)
