"""Every node that passed gets the same: Filter has done all that matters, it seems."""

KILLED_BY = "cooler-is-better"
CAUSE = "no-difference"
CHANGES = (
    (
        "        return self.most - self.celsius(node.node)",
        "        return 1",
    ),
)
