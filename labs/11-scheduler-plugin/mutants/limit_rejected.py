"""At the limit is out, too: `>=` where `>` was meant. A room at exactly 85 degrees places nothing."""

KILLED_BY = "hot-nodes-are-out"
CAUSE = "limit-rejected"
CHANGES = (
    (
        "        if celsius > self.most:",
        "        if celsius >= self.most:",
    ),
)
