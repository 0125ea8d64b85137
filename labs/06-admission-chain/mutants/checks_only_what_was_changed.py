"""The server checks an object only if a webhook changed it."""

KILLED_BY = "what-is-approved-is-stored"
CAUSE = "no-check"
CHANGES = (("    if check(obj) is not None:", '    if obj != request["object"] and check(obj) is not None:'),)
