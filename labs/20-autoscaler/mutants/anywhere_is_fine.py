"""Sends Pods to nodes without the label they need."""

KILLED_BY = "finds-a-place"
CAUSE = "needs"
CHANGES = (
    (
        '            if pod["needs"] in ("", other["has"]) and pod["cpu"]',
        '            if pod["cpu"]',
    ),
)
