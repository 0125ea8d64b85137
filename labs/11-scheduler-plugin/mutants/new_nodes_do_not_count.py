"""A new node has no old state, and is skipped."""

KILLED_BY = "a-pod-comes-back"
CAUSE = "missed-new"
CHANGES = (
    (
        "        helps = passes(new) and (old is None or not passes(old))",
        "        helps = passes(new) and old is not None and not passes(old)",
    ),
)
