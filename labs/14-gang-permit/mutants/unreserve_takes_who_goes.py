"""With one member that is gone those that were let go are sent back, too."""

KILLED_BY = "one-is-gone"
CAUSE = "wrong-pods"
CHANGES = (
    (
        ("            gang, _ = self.waits.pop(pod)\n        return self.send_back(gang)"),
        (
            "            gang, _ = self.waits.pop(pod)\n"
            "        gone = [one for one, name in self.goes.items() if name == gang]\n"
            "        for one in gone:\n"
            "            del self.goes[one]\n"
            "        return self.send_back(gang) + gone"
        ),
    ),
)
