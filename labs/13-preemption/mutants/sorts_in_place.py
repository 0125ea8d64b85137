"""by_importance orders the list of whoever called."""

KILLED_BY = "knows-who-matters"
CAUSE = "changes"
CHANGES = (
    (
        '    return sorted(pods, key=lambda pod: (-pod["priority"], pod["started"]))',
        '    pods.sort(key=lambda pod: (-pod["priority"], pod["started"]))\n    return pods',
    ),
)
