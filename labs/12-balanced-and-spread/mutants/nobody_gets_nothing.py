"""Where nobody is anywhere yet all get 0 instead of 100: the first Pod of an app is placed by chance."""

KILLED_BY = "the-least-crowded-wins"
CAUSE = "nobody"
CHANGES = (
    (
        "points.append(100)",
        "points.append(0)",
    ),
)
