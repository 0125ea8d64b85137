"""The new Pod is not counted: the skew ends at maxSkew + 1."""

KILLED_BY = "keeps-the-skew"
CAUSE = "alone"
CHANGES = (
    (
        "own = 1 if",
        "own = 0 if",
    ),
)
