"""Pods that were not measured keep their order, whatever their priorities."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "unmeasured-alike"
CHANGES = (
    (
        '            return False, pod["priority"]\n',
        "            return (False,)\n",
    ),
)
