"""It looks at the majority only after an answer. In a group of one none ever comes."""

KILLED_BY = "commits-by-majority"
CAUSE = "waits"
CHANGES = (
    (
        "        self.advance()\n        return index",
        "        return index",
    ),
)
