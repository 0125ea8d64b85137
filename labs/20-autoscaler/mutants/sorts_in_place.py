"""Sorts the list it was handed: the next group is asked about other Pods."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "changes"
CHANGES = (
    (
        '    for pod in sorted(pods, key=lambda pod: -pod["cpu"]):\n        if pod["needs"] not',
        '    pods.sort(key=lambda pod: -pod["cpu"])\n    for pod in pods:\n        if pod["needs"] not',
    ),
)
