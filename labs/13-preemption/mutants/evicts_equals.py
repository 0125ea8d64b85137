"""A Pod of the same priority may be a victim: two Deployments evict each other for ever."""

KILLED_BY = "evicts-no-more-than-needed"
CAUSE = "equal"
CHANGES = (
    (
        'if one["priority"] < pod["priority"]]',
        'if one["priority"] <= pod["priority"]]',
    ),
    (
        'if one["priority"] >= pod["priority"]]',
        'if one["priority"] > pod["priority"]]',
    ),
)
