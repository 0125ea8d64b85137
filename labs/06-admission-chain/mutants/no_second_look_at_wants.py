"""In the second round nobody looks whether the webhook is still for this object."""

KILLED_BY = "asks-again-once"
CAUSE = "unasked-again"
CHANGES = (
    (
        '            if not wants(hook, {**request, "object": obj}):',
        '            if not is_second and not wants(hook, {**request, "object": obj}):',
    ),
)
