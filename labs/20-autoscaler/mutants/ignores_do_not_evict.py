"""safe-to-evict false is overlooked: the training run of three weeks is evicted in its last hour."""

KILLED_BY = "knows-who-stays"
CAUSE = "unsafe"
CHANGES = (
    (
        '    return pod["safe"] == "false" or not',
        "    return not",
    ),
)
