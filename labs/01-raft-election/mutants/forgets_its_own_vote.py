"""Its own vote does not count, so it needs one more than a majority."""

KILLED_BY = "majority-leads"
CAUSE = "too-many"
CHANGES = (
    (
        "        self.votes = {self.me}",
        "        self.votes = set()",
    ),
)
