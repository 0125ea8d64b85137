"""The minimum stands in the place of the threshold."""

KILLED_BY = "crosses-below"
CAUSE = "minimum-alone"
CHANGES = (
    (
        '            bound += one["reclaim"]\n',
        '            bound = one["reclaim"] or bound\n',
    ),
)
