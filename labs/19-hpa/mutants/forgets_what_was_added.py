"""The rate is counted from the present count each round: 4 a minute become 16."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "forgets"
CHANGES = (
    (
        '        start = current - sum(many for ago, many in added if ago < policy["period"])\n',
        "        start = current\n",
    ),
)
