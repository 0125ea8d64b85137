"""On the way down Pods that are starting count as busy, like missing ones."""

KILLED_BY = "leaves-out-who-starts"
CAUSE = "starting-on-the-way-down"
CHANGES = (
    (
        "        counted += [max(100, target)] * missing\n",
        "        counted += [max(100, target)] * (missing + starting)\n",
    ),
)
