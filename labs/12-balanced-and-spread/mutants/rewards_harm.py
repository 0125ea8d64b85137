"""Without the Pod minus with it: the Pod goes where it does most harm."""

KILLED_BY = "rewards-improvement"
CAUSE = "turned"
CHANGES = (
    (
        "balance(after, allocatable) - balance(used, allocatable)",
        "balance(used, allocatable) - balance(after, allocatable)",
    ),
)
