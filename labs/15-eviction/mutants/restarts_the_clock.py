"""Every look begins anew: a soft threshold is never due."""

KILLED_BY = "waits-out-the-grace"
CAUSE = "restarts"
CHANGES = (
    (
        "since.get(name, now) for name",
        "now for name",
    ),
)
