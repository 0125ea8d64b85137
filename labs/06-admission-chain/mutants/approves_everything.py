"""The validating webhooks are not asked."""

KILLED_BY = "what-is-approved-is-stored"
CAUSE = "no-validation"
CHANGES = (
    (
        '    refused_by, more = validate(hooks, {**request, "object": obj}, call)\n'
        "    if refused_by is not None:\n"
        "        return None, refused_by, ms + more\n",
        "    more = 0\n",
    ),
)
