"""Every failure has the code 999."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "code-4"
CHANGES = (
    (
        '{"code": error.code, "msg": error.msg}',
        '{"code": 999, "msg": error.msg}',
    ),
)
