"""Nobody is asked any more after a refusal."""

KILLED_BY = "asks-all-at-once"
CAUSE = "stops"
CHANGES = (
    (
        '            refusals.append((took, hook["name"]))\n',
        '            refusals.append((took, hook["name"]))\n            break\n',
    ),
)
