"""Every mutating webhook is shown the object as it was sent."""

KILLED_BY = "one-after-the-other"
CAUSE = "parallel"
CHANGES = (
    (
        "call(hook, obj)",
        'call(hook, request["object"])',
    ),
)
