"""Ignore is treated as Fail: the webhook that is down stops everybody."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "ignore-as-fail"
CHANGES = (
    (
        '    if answer is None:\n        return hook["failure"] == "Ignore", {}, 0\n',
        "    if answer is None:\n        return False, {}, 0\n",
    ),
    (
        '    if answer["took"] > hook["timeout"]:\n        return hook["failure"] == "Ignore", {}, hook["timeout"]\n',
        '    if answer["took"] > hook["timeout"]:\n        return False, {}, hook["timeout"]\n',
    ),
)
