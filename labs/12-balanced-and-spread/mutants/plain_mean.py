"""The weights are read and not used: a GPU counts as much as a CPU."""

KILLED_BY = "prefers-the-empty"
CAUSE = "weights"
CHANGES = (
    (
        "has * weight\n",
        "has\n",
    ),
    (
        "weight_sum += weight",
        "weight_sum += 1",
    ),
)
