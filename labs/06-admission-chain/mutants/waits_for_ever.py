"""There is no timeout."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "no-timeout"
CHANGES = (
    (
        '    if answer["took"] > hook["timeout"]:\n        return hook["failure"] == "Ignore", {}, hook["timeout"]\n',
        "",
    ),
)
