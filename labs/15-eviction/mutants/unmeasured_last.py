"""A Pod that was not measured is given the benefit of the doubt."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "unmeasured-last"
CHANGES = (
    (
        '            return False, pod["priority"]\n',
        '            return True, 2, pod["priority"]\n',
    ),
)
