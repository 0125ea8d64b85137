"""Cooler than before is taken for cool."""

KILLED_BY = "a-pod-comes-back"
CAUSE = "eager-no"
CHANGES = (
    (
        "        helps = passes(new) and (old is None or not passes(old))",
        "        before = old and self.celsius(old)\n"
        "        now = self.celsius(new)\n"
        "        helps = now is not None and (before is None or now < before)",
    ),
)
