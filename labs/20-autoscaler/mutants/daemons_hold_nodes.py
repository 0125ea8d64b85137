"""Every node has a daemon, so no node is ever removed."""

KILLED_BY = "knows-who-stays"
CAUSE = "daemon"
CHANGES = (
    (
        '    if pod["daemon"] or pod["safe"] == "true":\n        return False\n    return',
        '    if pod["safe"] == "true":\n        return False\n    return pod["daemon"] or',
    ),
)
