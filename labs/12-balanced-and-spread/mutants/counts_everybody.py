"""Pods of other apps are counted, too: a noisy neighbour decides where you may grow."""

KILLED_BY = "counts-by-domain"
CAUSE = "every-app"
CHANGES = (
    (
        'pod["app"] == app and ',
        "",
    ),
)
