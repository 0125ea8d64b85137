"""A refusal that came too late is heard."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "late-no"
CHANGES = (
    (
        '    if answer["took"] > hook["timeout"]:\n        return hook["failure"] == "Ignore", {}, hook["timeout"]\n',
        '    if answer["took"] > hook["timeout"]:\n'
        '        return answer["allowed"] and hook["failure"] == "Ignore", {}, hook["timeout"]\n',
    ),
)
