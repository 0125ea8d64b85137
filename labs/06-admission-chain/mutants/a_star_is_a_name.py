"""`*` is taken for a name: webhooks that are for everything are for nothing."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "star"
CHANGES = (
    (
        'for name in ("*", request["operation"])',
        'for name in (request["operation"],)',
    ),
    (
        'for name in ("*", request["resource"])',
        'for name in (request["resource"],)',
    ),
)
