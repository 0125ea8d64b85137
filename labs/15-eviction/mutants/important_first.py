"""The highest priority goes first."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "high-first"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return True, above <= 0, -pod["priority"], -above\n',
    ),
    (
        '            return False, pod["priority"]\n',
        '            return False, -pod["priority"]\n',
    ),
)
