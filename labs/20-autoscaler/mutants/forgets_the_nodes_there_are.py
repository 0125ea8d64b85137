"""The maximum is held against the new nodes alone."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "size"
CHANGES = (
    (
        'group["size"] + len(free)',
        "len(free)",
    ),
)
