"""A failure is printed, and the status is 0: the runtime reads it as a result."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "status"
CHANGES = (
    (
        '        return 1, json.dumps({"code"',
        '        return 0, json.dumps({"code"',
    ),
)
