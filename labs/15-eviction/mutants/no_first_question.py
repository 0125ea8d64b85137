"""Nobody asks whether a Pod is above its request."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "no-group"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return pod["priority"], -above\n',
    ),
    (
        '            return False, pod["priority"]\n',
        '            return pod["priority"], 0\n',
    ),
)
