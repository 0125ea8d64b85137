"""Whether a webhook is asked is decided by the object as it was sent."""

KILLED_BY = "one-after-the-other"
CAUSE = "old-labels"
CHANGES = (
    (
        '            if not wants(hook, {**request, "object": obj}):',
        "            if not wants(hook, request):",
    ),
)
