"""DEL prints an empty object."""

KILLED_BY = "answers-the-runtime"
CAUSE = "del-prints"
CHANGES = (
    (
        '        return ""\n',
        '        return "{}"\n',
    ),
)
