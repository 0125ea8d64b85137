"""What was read is written back: revisions go by, and nothing ever changes."""

KILLED_BY = "writes-what-it-computed"
CAUSE = "other-value"
CHANGES = (
    (
        "store.put(key, new, revision)",
        "store.put(key, value, revision)",
    ),
)
