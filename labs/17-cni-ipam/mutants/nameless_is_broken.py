"""A configuration without a name gets the code of standard input that is no JSON."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "code-7"
CHANGES = (
    (
        'raise CNIError("missing network name", 7)',
        'raise CNIError("missing network name", 6)',
    ),
)
