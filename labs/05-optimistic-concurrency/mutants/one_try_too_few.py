"""It gives up before the last try that it has."""

KILLED_BY = "gives-up-after-its-steps"
CAUSE = "too-few"
CHANGES = (
    (
        "tried >= steps",
        "tried >= max(1, steps - 1)",
    ),
)
