"""Nobody asks whether the Pod would fit at all: the Node is emptied, and the Pod still waits."""

KILLED_BY = "evicts-no-more-than-needed"
CAUSE = "hopeless"
CHANGES = (
    (
        "    if room < 0:\n        return None\n",
        "",
    ),
)
