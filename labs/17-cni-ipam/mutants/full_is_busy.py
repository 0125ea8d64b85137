"""What host-local raises gets code 11 on its way out."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "code-999"
CHANGES = (
    (
        '{"code": error.code, "msg": error.msg}',
        '{"code": 11 if error.code == 999 else error.code, "msg": error.msg}',
    ),
)
