"""The hint takes 0 degrees for no report: 0 is false."""

KILLED_BY = "a-pod-comes-back"
CAUSE = "missed-cooled"
CHANGES = (
    (
        "            return celsius is not None and celsius",
        "            return bool(celsius) and celsius",
    ),
)
