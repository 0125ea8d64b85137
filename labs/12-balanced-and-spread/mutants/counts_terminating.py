"""Pods that are being deleted are counted: during a rolling update nobody may go where the old ones still are."""

KILLED_BY = "counts-by-domain"
CAUSE = "terminating"
CHANGES = (
    (
        ' and not pod["terminating"]',
        "",
    ),
)
