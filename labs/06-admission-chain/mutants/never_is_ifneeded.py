"""Webhooks without again are asked again too."""

KILLED_BY = "asks-again-once"
CAUSE = "never-too"
CHANGES = (
    (
        '            if hook["again"]:\n                asked',
        "            if hook:\n                asked",
    ),
)
