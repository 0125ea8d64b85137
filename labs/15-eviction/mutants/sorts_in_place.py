"""The caller's list is sorted."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "changes"
CHANGES = (
    (
        "    return sorted(pods, key=key)",
        "    pods.sort(key=key)\n    return pods",
    ),
)
