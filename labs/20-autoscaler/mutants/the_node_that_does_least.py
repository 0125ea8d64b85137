"""A candidate is who uses little: what most people believe is running."""

KILLED_BY = "empties-nodes-together"
CAUSE = "use"
CHANGES = (
    (
        'sum(pod["cpu"] for pod in node["pods"]) > node["cpu"]',
        'sum(pod["uses"] for pod in node["pods"]) > node["cpu"]',
    ),
)
