"""The first Pod without a place ends the estimate."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "stops"
CHANGES = (
    (
        '>= group["max"]:\n                continue',
        '>= group["max"]:\n                break',
    ),
)
