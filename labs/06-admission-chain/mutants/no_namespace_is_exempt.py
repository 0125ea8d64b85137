"""The exempt namespaces are not looked at."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "skips"
CHANGES = (
    (
        '    if request["namespace"] in hook["skips"]:\n        return False\n',
        "",
    ),
)
