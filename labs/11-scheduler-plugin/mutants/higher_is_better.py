"""The temperature is the score: the hottest node wins."""

KILLED_BY = "cooler-is-better"
CAUSE = "hotter-wins"
CHANGES = (
    (
        "        return self.most - self.celsius(node.node)",
        "        return self.celsius(node.node)",
    ),
)
