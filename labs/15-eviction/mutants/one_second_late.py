"""After exactly the grace period it still waits."""

KILLED_BY = "waits-out-the-grace"
CAUSE = "late"
CHANGES = (
    (
        'now - fresh[name] >= one["grace"]',
        'now - fresh[name] > one["grace"]',
    ),
)
