"""Above the request and of one priority, anybody goes."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "no-amount"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return True, above <= 0, pod["priority"]\n',
    ),
)
