"""A missing value is read as 0 degrees: the node that says nothing is the coolest of all."""

KILLED_BY = "silence-is-a-no"
CAUSE = "missing-accepted"
CHANGES = (
    (
        '        text = annotations.get(TEMPERATURE, "")',
        '        text = annotations.get(TEMPERATURE, "0")',
    ),
    (
        '        if not text.removeprefix("-").isdigit() or MEASURED_AT not in annotations:',
        "        if TEMPERATURE not in annotations:\n            return 0\n        if not text.isdigit():",
    ),
)
