"""Max and Min are confused."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "turned"
CHANGES = (
    (
        '    allowed = max(limits) if select == "Max" else min(limits)\n',
        '    allowed = min(limits) if select == "Max" else max(limits)\n',
    ),
)
