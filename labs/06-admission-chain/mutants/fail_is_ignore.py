"""Fail is treated as Ignore: the policy that is down lets everything pass."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "fail-as-ignore"
CHANGES = (
    (
        '    if answer is None:\n        return hook["failure"] == "Ignore", {}, 0\n',
        "    if answer is None:\n        return True, {}, 0\n",
    ),
    (
        '    if answer["took"] > hook["timeout"]:\n        return hook["failure"] == "Ignore", {}, hook["timeout"]\n',
        '    if answer["took"] > hook["timeout"]:\n        return True, {}, hook["timeout"]\n',
    ),
)
