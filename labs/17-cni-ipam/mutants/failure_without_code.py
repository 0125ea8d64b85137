"""A failure is printed as a text."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "no-code"
CHANGES = (
    (
        '        return 1, json.dumps({"code": error.code, "msg": error.msg})',
        "        return 1, error.msg",
    ),
)
