"""A resource that the Node does not have counts as unused, so that no Node without a GPU is ever balanced."""

KILLED_BY = "measures-balance"
CAUSE = "absent"
CHANGES = (
    (
        "[min(used / has, 1.0) for used, has in zip(requested, allocatable) if has]",
        "[min(used / has, 1.0) if has else 0.0 for used, has in zip(requested, allocatable)]",
    ),
)
