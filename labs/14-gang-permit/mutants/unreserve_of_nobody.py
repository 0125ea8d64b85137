"""unreserve for a Pod without a place sends back whoever waits."""

KILLED_BY = "one-is-gone"
CAUSE = "wrong-pods"
CHANGES = (
    (
        ("            gang, _ = self.waits.pop(pod)\n        return self.send_back(gang)"),
        (
            "            gang, _ = self.waits.pop(pod)\n"
            "        first = next(iter(self.waits.values()), ('', 0))\n"
            "        return self.send_back(gang or first[0])"
        ),
    ),
)
