"""The first in the order is critical, so nobody goes."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "gives-up"
CHANGES = (
    (
        ' for pod in order(pods) if not pod["critical"]]',
        ' for pod in order(pods)[:1] if not pod["critical"]]',
    ),
)
