"""Small Pods first leave gaps that no large one fits: a node or two too many."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "order"
CHANGES = (
    (
        'sorted(pods, key=lambda pod: -pod["cpu"]):\n        if pod["needs"] not',
        'pods:\n        if pod["needs"] not',
    ),
)
