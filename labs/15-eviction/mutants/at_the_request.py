"""Using exactly what was requested counts as using more."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "at-the-request"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return True, above < 0, pod["priority"], -above\n',
    ),
)
