"""A version that the plugin does not speak gets the code of a missing variable."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "code-1"
CHANGES = (
    (
        'raise CNIError("incompatible CNI versions", 1)',
        'raise CNIError("incompatible CNI versions", 4)',
    ),
)
