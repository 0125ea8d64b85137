"""Who is least above its request goes first."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "least-above"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return True, above <= 0, pod["priority"], above\n',
    ),
)
