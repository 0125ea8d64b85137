"""The server's own check comes before the mutating webhooks."""

KILLED_BY = "what-is-approved-is-stored"
CAUSE = "check-first"
CHANGES = (
    (
        '    if check(obj) is not None:\n        return None, "check", ms\n',
        "",
    ),
    (
        "    obj, refused_by, ms = mutate(hooks, request, call)\n"
        "    if obj is None:\n"
        "        return None, refused_by, ms\n",
        '    if check(request["object"]) is not None:\n'
        '        return None, "check", 0\n'
        "    obj, refused_by, ms = mutate(hooks, request, call)\n"
        "    if obj is None:\n"
        "        return None, refused_by, ms\n",
    ),
)
