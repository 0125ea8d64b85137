"""Critical Pods are evicted like all others."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "critical-too"
CHANGES = (
    (
        ' for pod in order(pods) if not pod["critical"]]',
        " for pod in order(pods)]",
    ),
)
