"""The file holds the container alone, as in versions before interfaces had names."""

KILLED_BY = "gives-back"
CAUSE = "refuses"
CHANGES = (
    (
        'key = f"{container}\\r\\n{ifname}"\n        if',
        "key = container\n        if",
    ),
    (
        'key = f"{container}\\r\\n{ifname}"\n        for',
        "key = container\n        for",
    ),
)
