"""Each put sets create_revision to now."""

KILLED_BY = "three-numbers"
CAUSE = "other-create"
CHANGES = (
    (
        "created, version = before.create_revision,",
        "created, version = self.revision,",
    ),
)
