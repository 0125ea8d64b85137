"""Pods move to a node that is about to go."""

KILLED_BY = "empties-nodes-together"
CAUSE = "onto-gone"
CHANGES = (
    (
        'if other["name"] not in (node["name"], *gone)',
        'if other["name"] != node["name"]',
    ),
)
