"""A change that a later webhook takes back does not count."""

KILLED_BY = "asks-again-once"
CAUSE = "end-to-end"
CHANGES = (
    (
        '            if is_second and hook["name"] not in again:\n',
        '            if is_second and (obj == request["object"] or hook["name"] not in again):\n',
    ),
)
