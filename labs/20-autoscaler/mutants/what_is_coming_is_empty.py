"""Forgets that daemons will run on the node that boots."""

KILLED_BY = "buys-what-is-missing"
CAUSE = "empty"
CHANGES = (
    (
        'free = [node["cpu"] - sum(pod["cpu"] for pod in node["pods"]) for node in nodes]',
        'free = [node["cpu"] - sum(pod["cpu"] for pod in node["pods"] if not node["coming"]) for node in nodes]',
    ),
)
