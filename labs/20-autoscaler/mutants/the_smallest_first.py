"""sorted() ascends."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "smallest"
CHANGES = (
    (
        'sorted(pods, key=lambda pod: -pod["cpu"]):\n        if pod["needs"] not',
        'reversed(sorted(pods, key=lambda pod: -pod["cpu"])):\n        if pod["needs"] not',
    ),
)
