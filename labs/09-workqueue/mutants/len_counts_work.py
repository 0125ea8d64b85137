"""`len` counts keys in work as well: the metric `workqueue_depth` never falls to zero."""

KILLED_BY = "counts-what-waits"
CAUSE = "counts-work"
CHANGES = (
    (
        "        return len(self.queue)",
        "        return len(self.queue) + len(self.processing)",
    ),
)
