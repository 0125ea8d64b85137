"""The hint always queues: every report of every node is an attempt that cannot succeed."""

KILLED_BY = "a-pod-comes-back"
CAUSE = "eager-no"
CHANGES = (
    (
        "        helps = passes(new) and (old is None or not passes(old))",
        "        helps = True",
    ),
)
