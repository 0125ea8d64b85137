"""100 % is taken for the goal, and nothing ever grows."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "ends-there"
CHANGES = (
    (
        '            limits.append(-(-start * (100 + policy["value"]) // 100))\n',
        '            limits.append(-(-start * policy["value"] // 100))\n',
    ),
)
