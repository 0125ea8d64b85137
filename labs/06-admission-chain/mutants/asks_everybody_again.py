"""The second round, which there is when anything changed, asks everybody."""

KILLED_BY = "asks-again-once"
CAUSE = "everybody"
CHANGES = (
    (
        '            if is_second and hook["name"] not in again:\n',
        '            if is_second and obj == request["object"]:\n',
    ),
)
