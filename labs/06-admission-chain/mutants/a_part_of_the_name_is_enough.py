"""A namespace is exempt when it begins like an exempt one."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "skips-part"
CHANGES = (
    (
        'if request["namespace"] in hook["skips"]:',
        'if any(request["namespace"].startswith(name) for name in hook["skips"]):',
    ),
)
