"""What was added exactly a period ago still counts."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "edge"
CHANGES = (
    (
        '        start = current - sum(many for ago, many in added if ago < policy["period"])\n',
        '        start = current - sum(many for ago, many in added if ago <= policy["period"])\n',
    ),
)
