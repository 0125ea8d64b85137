"""A connection that is refused costs the whole timeout."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "dead-waits"
CHANGES = (
    (
        '    if answer is None:\n        return hook["failure"] == "Ignore", {}, 0\n',
        '    if answer is None:\n        return hook["failure"] == "Ignore", {}, hook["timeout"]\n',
    ),
)
