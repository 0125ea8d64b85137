"""The operations are not looked at."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "operations"
CHANGES = (
    (
        '    if not any(name in hook["operations"] for name in ("*", request["operation"])):\n        return False\n',
        "",
    ),
)
