"""failurePolicy Ignore ignores a refusal too."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "ignores-no"
CHANGES = (
    (
        '    return answer["allowed"], answer["patch"], answer["took"]',
        '    return answer["allowed"] or hook["failure"] == "Ignore", answer["patch"], answer["took"]',
    ),
)
