"""The resources are not looked at."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "resources"
CHANGES = (
    (
        '    if not any(name in hook["resources"] for name in ("*", request["resource"])):\n        return False\n',
        "",
    ),
)
