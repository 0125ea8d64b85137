"""Forgets the daemons: Pods are promised a node that has no room for them, and wait for ever."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "daemons"
CHANGES = (
    (
        'group["cpu"] - group["daemons"]',
        'group["cpu"]',
    ),
)
