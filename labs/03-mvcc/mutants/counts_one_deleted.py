"""delete says 1, however many there were."""

KILLED_BY = "a-delete-is-one-change"
CAUSE = "other-count"
CHANGES = (
    (
        "        return len(found)\n",
        "        return min(1, len(found))\n",
    ),
)
