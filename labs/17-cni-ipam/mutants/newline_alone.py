"""Container and interface are separated by a newline alone: host-local does not find its files again."""

KILLED_BY = "writes-it-down"
CAUSE = "content"
CHANGES = (
    (
        'key = f"{container}\\r\\n{ifname}"\n        if',
        'key = f"{container}\\n{ifname}"\n        if',
    ),
    (
        'key = f"{container}\\r\\n{ifname}"\n        for',
        'key = f"{container}\\n{ifname}"\n        for',
    ),
)
