"""0 degrees are taken for no report: 0 is false."""

KILLED_BY = "hot-nodes-are-out"
CAUSE = "cold-rejected"
CHANGES = (
    (
        "        if celsius is None:\n",
        "        if not celsius:\n",
    ),
)
