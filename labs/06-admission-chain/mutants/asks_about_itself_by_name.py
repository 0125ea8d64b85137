"""A webhook that names webhookconfigurations is asked about them."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "exempt-unless-named"
CHANGES = (
    (
        '    if request["resource"] == "webhookconfigurations":\n',
        '    if request["resource"] == "webhookconfigurations" and request["resource"] not in hook["resources"]:\n',
    ),
)
