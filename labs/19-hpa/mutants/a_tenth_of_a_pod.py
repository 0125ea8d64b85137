"""Percentages are rounded down: from 5 replicas 10 % never add one."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "rounds-down"
CHANGES = (
    (
        '            limits.append(-(-start * (100 + policy["value"]) // 100))\n',
        '            limits.append(start * (100 + policy["value"]) // 100)\n',
    ),
)
