"""Soft thresholds are never acted on."""

KILLED_BY = "waits-out-the-grace"
CAUSE = "hard-only"
CHANGES = (
    (
        "        if name in fresh and now",
        '        if name in fresh and one["grace"] == 0 and now',
    ),
)
