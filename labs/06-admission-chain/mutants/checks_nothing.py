"""The server's own check is left out."""

KILLED_BY = "what-is-approved-is-stored"
CAUSE = "no-check"
CHANGES = (
    (
        '    if check(obj) is not None:\n        return None, "check", ms\n',
        "",
    ),
)
