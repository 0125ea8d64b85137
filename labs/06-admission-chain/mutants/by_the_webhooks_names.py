"""By the names of the webhooks, not of their configurations."""

KILLED_BY = "one-after-the-other"
CAUSE = "by-name"
CHANGES = (
    (
        '    mutating.sort(key=lambda hook: hook["configuration"])\n',
        '    mutating.sort(key=lambda hook: hook["name"])\n',
    ),
)
