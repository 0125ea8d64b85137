"""As soon as the threshold itself is free it is over."""

KILLED_BY = "crosses-below"
CAUSE = "no-minimum"
CHANGES = (
    (
        '            bound += one["reclaim"]\n',
        "            bound += 0\n",
    ),
)
