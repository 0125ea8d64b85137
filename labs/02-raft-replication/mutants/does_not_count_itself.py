"""The leader has the entry too, and does not count."""

KILLED_BY = "commits-by-majority"
CAUSE = "waits"
CHANGES = (
    (
        "sorted([last_index, *self.match_index",
        "sorted([0, *self.match_index",
    ),
)
