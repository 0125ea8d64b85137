"""A failure has a code and no text."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "no-msg"
CHANGES = (
    (
        '{"code": error.code, "msg": error.msg}',
        '{"code": error.code}',
    ),
)
