"""One free place serves all Pods that move."""

KILLED_BY = "finds-a-place"
CAUSE = "alone"
CHANGES = (
    (
        '                free[index] -= pod["cpu"]\n                found',
        "                found",
    ),
)
