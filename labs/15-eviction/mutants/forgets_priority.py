"""The amount decides at once, and nobody's priority is asked."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "no-priority"
CHANGES = (
    (
        '        return True, above <= 0, pod["priority"], -above\n',
        "        return True, above <= 0, -above\n",
    ),
    (
        '            return False, pod["priority"]\n',
        "            return (False,)\n",
    ),
)
