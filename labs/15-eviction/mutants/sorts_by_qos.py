"""BestEffort first, then Burstable: by whether a Pod requests anything, then by what it uses."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "class"
CHANGES = (
    (
        "    return sorted(pods, key=key)",
        '    return sorted(pods, key=lambda pod: (pod["request"] > 0, -(pod["used"] or 0)))',
    ),
)
