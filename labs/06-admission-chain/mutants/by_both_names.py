"""Within a configuration by name, not as it lists them."""

KILLED_BY = "one-after-the-other"
CAUSE = "name-last"
CHANGES = (
    (
        '    mutating.sort(key=lambda hook: hook["configuration"])\n',
        '    mutating.sort(key=lambda hook: (hook["configuration"], hook["name"]))\n',
    ),
)
