"""Everything that was ever added counts against every policy."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "all-of-it"
CHANGES = (
    (
        '        start = current - sum(many for ago, many in added if ago < policy["period"])\n',
        "        start = current - sum(many for ago, many in added)\n",
    ),
)
