"""Only 87 is too hot: off by one in the other direction."""

KILLED_BY = "hot-nodes-are-out"
CAUSE = "hot-accepted"
CHANGES = (
    (
        "        if celsius > self.most:",
        "        if celsius > self.most + 1:",
    ),
)
