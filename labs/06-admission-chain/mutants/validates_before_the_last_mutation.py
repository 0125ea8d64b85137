"""The validating webhooks are shown the object as it was sent."""

KILLED_BY = "what-is-approved-is-stored"
CAUSE = "validates-early"
CHANGES = (
    (
        '    refused_by, more = validate(hooks, {**request, "object": obj}, call)\n'
        "    if refused_by is not None:\n"
        "        return None, refused_by, ms + more\n",
        "    refused_by, more = validate(hooks, request, call)\n"
        "    if refused_by is not None:\n"
        "        return None, refused_by, ms + more\n",
    ),
)
