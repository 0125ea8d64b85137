"""Only a node that was hot can cool: after a silence nobody comes back."""

KILLED_BY = "a-pod-comes-back"
CAUSE = "missed-silence"
CHANGES = (
    (
        "        helps = passes(new) and (old is None or not passes(old))",
        "        was_hot = old is None or (self.celsius(old) or 0) > self.most\n"
        "        helps = was_hot and passes(new)",
    ),
)
