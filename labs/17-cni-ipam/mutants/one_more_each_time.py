"""A second ADD of the same interface takes a second address, and nobody gives back the first."""

KILLED_BY = "one-each"
CAUSE = "second-address"
CHANGES = (
    (
        "        if key in self.files.values():\n            raise",
        "        if key in ():\n            raise",
    ),
)
