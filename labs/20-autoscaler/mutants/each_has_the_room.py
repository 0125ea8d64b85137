"""One free place serves all Pods that wait."""

KILLED_BY = "buys-what-is-missing"
CAUSE = "alone"
CHANGES = (
    (
        '                free[index] -= pod["cpu"]\n                break\n        else:\n            left',
        "                break\n        else:\n            left",
    ),
)
