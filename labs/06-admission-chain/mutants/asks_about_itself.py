"""Webhooks are asked about the objects that configure webhooks: a wrong one cannot be removed."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "exempt"
CHANGES = (
    (
        '    if request["resource"] == "webhookconfigurations":\n        return False\n',
        "",
    ),
)
