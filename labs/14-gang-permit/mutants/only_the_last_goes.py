"""The last one may go; nobody tells those that wait."""

KILLED_BY = "nobody-goes-early"
CAUSE = "left-behind"
CHANGES = (
    (
        "        go = self.of_gang(gang)\n",
        "        go = [pod]\n",
    ),
)
