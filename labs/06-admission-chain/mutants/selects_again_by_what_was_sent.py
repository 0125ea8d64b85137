"""In the second round the labels that were sent decide."""

KILLED_BY = "asks-again-once"
CAUSE = "old-labels-again"
CHANGES = (
    (
        '            if not wants(hook, {**request, "object": obj}):',
        '            current = request["object"] if is_second else obj\n'
        '            if not wants(hook, {**request, "object": current}):',
    ),
)
