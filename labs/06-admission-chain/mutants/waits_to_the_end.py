"""A late webhook has failed, and is waited for all the same."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "waits-on"
CHANGES = (
    (
        '    if answer["took"] > hook["timeout"]:\n        return hook["failure"] == "Ignore", {}, hook["timeout"]\n',
        '    if answer["took"] > hook["timeout"]:\n        return hook["failure"] == "Ignore", {}, answer["took"]\n',
    ),
)
