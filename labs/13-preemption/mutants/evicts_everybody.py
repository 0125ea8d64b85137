"""All less important Pods go, whether that is needed or not."""

KILLED_BY = "evicts-no-more-than-needed"
CAUSE = "too-many"
CHANGES = (
    (
        'if one["cpu"] <= room:',
        'if one["cpu"] < 0:',
    ),
)
