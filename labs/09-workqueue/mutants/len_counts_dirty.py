"""`len` counts what needs work, also what a worker still holds and was added again."""

KILLED_BY = "counts-what-waits"
CAUSE = "count"
CHANGES = (
    (
        "        return len(self.queue)",
        "        return len(self.dirty)",
    ),
)
