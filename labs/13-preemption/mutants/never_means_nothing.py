"""preemptionPolicy Never is not looked at."""

KILLED_BY = "makes-room"
CAUSE = "never"
CHANGES = (
    (
        '    if pod["policy"] == "Never":\n        return None\n',
        "",
    ),
)
