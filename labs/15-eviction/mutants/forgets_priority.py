"""Among those above their requests the amount decides at once."""

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
