"""One node, then look again: eleven Pods take eleven rounds, each with a boot in between."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "one"
CHANGES = (
    (
        'group["size"] + len(free) >= group["max"]',
        'len(free) == 1 or group["size"] >= group["max"]',
    ),
)
