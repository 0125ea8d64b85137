"""What was not measured is taken for 0."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "unmeasured-as-zero"
CHANGES = (
    (
        '        if pod["used"] is None:\n'
        '            return False, pod["priority"]\n'
        '        above = pod["used"] - pod["request"]\n',
        '        above = (pod["used"] or 0) - pod["request"]\n',
    ),
)
