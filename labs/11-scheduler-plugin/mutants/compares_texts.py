"""Annotations are texts, and '9' is more than '85'."""

KILLED_BY = "hot-nodes-are-out"
CAUSE = "cool-rejected"
CHANGES = (
    (
        "        if celsius > self.most:",
        "        if str(celsius) > str(self.most):",
    ),
)
