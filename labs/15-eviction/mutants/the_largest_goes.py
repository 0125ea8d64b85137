"""Whoever uses the most goes: that helps most."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "usage-alone"
CHANGES = (
    (
        "    return sorted(pods, key=key)",
        '    return sorted(pods, key=lambda pod: -(pod["used"] or 0))',
    ),
)
