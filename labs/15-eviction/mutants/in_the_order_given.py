"""Nobody is ranked: the first that is not critical goes."""

KILLED_BY = "evicts-one-a-look"
CAUSE = "unsorted"
CHANGES = (
    (
        " for pod in order(pods) if",
        " for pod in pods if",
    ),
)
