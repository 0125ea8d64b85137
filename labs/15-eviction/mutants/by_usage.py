"""The last question is about what is used, not about what is used above the request."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "most-used"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        '        return True, above <= 0, pod["priority"], -pod["used"]\n',
    ),
)
