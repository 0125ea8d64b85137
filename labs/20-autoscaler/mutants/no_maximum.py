"""Buys without a limit."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "max"
CHANGES = (
    (
        ' or group["size"] + len(free) >= group["max"]:',
        ":",
    ),
)
