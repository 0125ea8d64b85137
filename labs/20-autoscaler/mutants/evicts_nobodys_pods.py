"""A Pod without an owner is evicted, and that was it."""

KILLED_BY = "knows-who-stays"
CAUSE = "bare"
CHANGES = (
    (
        'not pod["owner"] or pod["disk"]',
        'pod["disk"]',
    ),
)
