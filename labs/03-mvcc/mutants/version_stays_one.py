"""The version of a key is not counted up."""

KILLED_BY = "three-numbers"
CAUSE = "other-version"
CHANGES = (
    (
        "before.version + 1",
        "1",
    ),
)
