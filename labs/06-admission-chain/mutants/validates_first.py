"""The validating webhooks come first."""

KILLED_BY = "what-is-approved-is-stored"
CAUSE = "validates-first"
CHANGES = (
    (
        "    obj, refused_by, ms = mutate(hooks, request, call)\n"
        "    if obj is None:\n"
        "        return None, refused_by, ms\n",
        "    refused_by, more = validate(hooks, request, call)\n"
        "    if refused_by is not None:\n"
        "        return None, refused_by, more\n"
        "    obj, refused_by, ms = mutate(hooks, request, call)\n"
        "    if obj is None:\n"
        "        return None, refused_by, ms + more\n",
    ),
    (
        '    if check(obj) is not None:\n        return None, "check", ms\n',
        '    if check(obj) is not None:\n        return None, "check", ms + more\n',
    ),
    (
        '    refused_by, more = validate(hooks, {**request, "object": obj}, call)\n'
        "    if refused_by is not None:\n"
        "        return None, refused_by, ms + more\n",
        "",
    ),
)
