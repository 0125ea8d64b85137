"""A refusal in the second round does not count."""

KILLED_BY = "asks-again-once"
CAUSE = "no-second-no"
CHANGES = (
    (
        '            if not allowed:\n                return None, hook["name"], ms\n',
        '            if not allowed and not is_second:\n                return None, hook["name"], ms\n',
    ),
)
