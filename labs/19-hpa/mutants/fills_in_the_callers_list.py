"""The filled-in Pods go into the caller's list."""

KILLED_BY = "counts-the-missing"
CAUSE = "changes"
CHANGES = (
    (
        "    counted = list(usages)\n",
        "    counted = usages\n",
    ),
)
