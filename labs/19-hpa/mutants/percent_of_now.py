"""The percentage is of the present count: it compounds within its period."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "of-now"
CHANGES = (
    (
        '            limits.append(-(-start * (100 + policy["value"]) // 100))\n',
        '            limits.append(start - (-current * policy["value"] // 100))\n',
    ),
)
