"""The selection is not read."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "always-max"
CHANGES = (
    (
        '    allowed = max(limits) if select == "Max" else min(limits)\n',
        "    allowed = max(limits)\n",
    ),
)
