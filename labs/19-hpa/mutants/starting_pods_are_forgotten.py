"""On the way up Pods that are starting are not counted: each burst is answered twice."""

KILLED_BY = "leaves-out-who-starts"
CAUSE = "starting-left-out"
CHANGES = (
    (
        "        counted += [0] * (missing + starting)\n",
        "        counted += [0] * missing\n",
    ),
)
