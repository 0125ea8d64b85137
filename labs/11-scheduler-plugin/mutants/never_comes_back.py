"""The hint always skips: the Pod waits for the five-minute flush."""

KILLED_BY = "a-pod-comes-back"
CAUSE = "missed-cooled"
CHANGES = (
    (
        "        helps = passes(new) and (old is None or not passes(old))",
        "        helps = False",
    ),
)
