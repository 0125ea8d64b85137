"""The new Pod is always counted, also when its constraint does not select it."""

KILLED_BY = "counts-itself-if-selected"
CAUSE = "always"
CHANGES = (
    (
        '1 if app == constraint["app"] else 0',
        "1",
    ),
)
