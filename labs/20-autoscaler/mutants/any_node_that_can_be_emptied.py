"""The share is not asked: full nodes are emptied onto other full nodes, for ever."""

KILLED_BY = "empties-nodes-together"
CAUSE = "share-ignored"
CHANGES = (
    (
        '        if 2 * sum(pod["cpu"] for pod in node["pods"]) > node["cpu"]:\n            continue\n',
        "",
    ),
)
