"""It asks one tick after its patience has ended: 11 to 20."""

KILLED_BY = "asks-when-silent"
CAUSE = "too-late"
CHANGES = (
    (
        "self.silence >= self.timeout",
        "self.silence > self.timeout",
    ),
)
