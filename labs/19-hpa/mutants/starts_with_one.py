"""The count at the period's start is never below 1."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "one-at-least"
CHANGES = (
    (
        '        start = current - sum(many for ago, many in added if ago < policy["period"])\n',
        '        start = max(1, current - sum(many for ago, many in added if ago < policy["period"]))\n',
    ),
)
