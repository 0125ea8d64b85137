"""Critical Pods come last in the order."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "critical-last"
CHANGES = (
    (
        '            return False, pod["priority"]\n',
        '            return pod["critical"], False, pod["priority"]\n',
    ),
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return pod["critical"], True, above <= 0, pod["priority"], -above\n',
    ),
)
