"""Only the last look counts."""

KILLED_BY = "keeps-the-pressure"
CAUSE = "only-now"
CHANGES = (
    (
        "        if low:\n            self.seen = now\n",
        "        self.seen = now if low else None\n",
    ),
)
