"""A Node without the label is taken for an empty place, the best of all."""

KILLED_BY = "the-least-crowded-wins"
CAUSE = "unlabelled"
CHANGES = (
    (
        "        if crowd is None:\n            points.append(0)\n        elif",
        "        crowd = crowd or 0\n        if",
    ),
    (
        "known = [crowd for crowd in crowds if crowd is not None]",
        "known = [crowd or 0 for crowd in crowds]",
    ),
)
