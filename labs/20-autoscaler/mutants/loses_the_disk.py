"""What a Pod kept on its node is gone."""

KILLED_BY = "knows-who-stays"
CAUSE = "disk"
CHANGES = (
    (
        ' or not pod["owner"] or pod["disk"]',
        ' or not pod["owner"]',
    ),
)
