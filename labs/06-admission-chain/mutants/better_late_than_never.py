"""The patch of an answer that came too late is applied."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "late-patch"
CHANGES = (
    (
        '    if answer["took"] > hook["timeout"]:\n        return hook["failure"] == "Ignore", {}, hook["timeout"]\n',
        '    if answer["took"] > hook["timeout"]:\n'
        '        patch = answer["patch"] if hook["failure"] == "Ignore" else {}\n'
        '        return hook["failure"] == "Ignore", patch, hook["timeout"]\n',
    ),
)
