"""Without any headroom everybody gets 100."""

KILLED_BY = "scores-fill-the-scale"
CAUSE = "no-headroom"
CHANGES = (
    (
        "if most else 0 for score in scores]",
        "if most else 100 for score in scores]",
    ),
)
