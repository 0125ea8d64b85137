"""Everything that is crossed is due at once."""

KILLED_BY = "waits-out-the-grace"
CAUSE = "no-grace"
CHANGES = (
    (
        ' and now - fresh[name] >= one["grace"]:',
        ":",
    ),
)
