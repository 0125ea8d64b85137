"""Pods that moved stand in front of those that were there."""

KILLED_BY = "empties-nodes-together"
CAUSE = "in-front"
CHANGES = (
    (
        'pods_of[found[pod["name"]]].append(pod)',
        'pods_of[found[pod["name"]]].insert(0, pod)',
    ),
)
