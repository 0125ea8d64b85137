"""The least important Pod goes, also when it is below its request."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "priority-first"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return pod["priority"], True, above <= 0, -above\n',
    ),
    (
        '            return False, pod["priority"]\n',
        '            return pod["priority"], False\n',
    ),
)
