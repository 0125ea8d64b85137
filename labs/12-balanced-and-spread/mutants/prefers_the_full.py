"""The used share instead of the free one: MostAllocated, which packs Nodes instead of spreading the load."""

KILLED_BY = "prefers-the-empty"
CAUSE = "used"
CHANGES = (
    (
        "free = max(0, has - used)",
        "free = min(used, has)",
    ),
)
