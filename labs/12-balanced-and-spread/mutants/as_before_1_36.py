"""The score of 1.35: the balance with the Pod there, whatever it was before."""

KILLED_BY = "rewards-improvement"
CAUSE = "only-after"
CHANGES = (
    (
        "50 + (50 + balance(after, allocatable) - balance(used, allocatable)) // 2",
        "balance(after, allocatable)",
    ),
)
