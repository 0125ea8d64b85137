"""A node that is not due yet counts against the minimum."""

KILLED_BY = "waits-its-time"
CAUSE = "young-count"
CHANGES = (
    (
        "        if now - since[name] > 600 and left[group] > 0:\n            left[group] -= 1\n",
        "        left[group] -= 1\n        if now - since[name] > 600 and left[group] >= 0:\n",
    ),
)
