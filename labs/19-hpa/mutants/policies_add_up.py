"""All policies are used at once."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "adds-up"
CHANGES = (
    (
        '    allowed = max(limits) if select == "Max" else min(limits)\n',
        "    allowed = current + sum(limit - current for limit in limits)\n",
    ),
)
