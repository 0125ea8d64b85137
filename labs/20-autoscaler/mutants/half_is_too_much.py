"""Exactly half is left out."""

KILLED_BY = "empties-nodes-together"
CAUSE = "half"
CHANGES = (
    (
        '> node["cpu"]:\n            continue\n        if any',
        '>= node["cpu"]:\n            continue\n        if any',
    ),
)
