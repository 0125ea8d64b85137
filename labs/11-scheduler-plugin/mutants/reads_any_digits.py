"""What is no whole number is read as far as its digits go: 'warm' is 0 degrees."""

KILLED_BY = "silence-is-a-no"
CAUSE = "unreadable-accepted"
CHANGES = (
    (
        '        if not text.removeprefix("-").isdigit() or MEASURED_AT not in annotations:',
        '        text = "0" + "".join(filter(str.isdigit, text.split(".")[0]))\n'
        "        if MEASURED_AT not in annotations:",
    ),
)
