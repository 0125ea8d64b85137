"""The server's own check comes after the validating webhooks."""

KILLED_BY = "what-is-approved-is-stored"
CAUSE = "check-last"
CHANGES = (
    (
        '    if check(obj) is not None:\n        return None, "check", ms\n',
        "",
    ),
    (
        '    refused_by, more = validate(hooks, {**request, "object": obj}, call)\n'
        "    if refused_by is not None:\n"
        "        return None, refused_by, ms + more\n",
        '    refused_by, more = validate(hooks, {**request, "object": obj}, call)\n'
        "    if refused_by is not None:\n"
        "        return None, refused_by, ms + more\n"
        "    if check(obj) is not None:\n"
        '        return None, "check", ms + more\n',
    ),
)
