"""A node that has taken in others' Pods is no candidate any more."""

KILLED_BY = "empties-nodes-together"
CAUSE = "after"
CHANGES = (
    (
        '2 * sum(pod["cpu"] for pod in node["pods"])',
        '2 * sum(pod["cpu"] for pod in mine)',
    ),
)
