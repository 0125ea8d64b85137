"""`steps` counts the repetitions, not the tries: five becomes six."""

KILLED_BY = "gives-up-after-its-steps"
CAUSE = "too-many"
CHANGES = (
    (
        "tried >= steps",
        "tried > steps",
    ),
)
