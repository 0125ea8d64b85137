"""Old is not looked at: each report of a cool node queues a Pod that others keep waiting."""

KILLED_BY = "a-pod-comes-back"
CAUSE = "eager-pass"
CHANGES = (
    (
        "        helps = passes(new) and (old is None or not passes(old))",
        "        helps = passes(new)",
    ),
)
