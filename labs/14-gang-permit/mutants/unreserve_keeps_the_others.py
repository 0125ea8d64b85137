"""The Pod is taken out, and those that wait for it go on waiting."""

KILLED_BY = "one-is-gone"
CAUSE = "keeps-waiting"
CHANGES = (
    (
        ("            gang, _ = self.waits.pop(pod)\n        return self.send_back(gang)"),
        ("            gang, _ = self.waits.pop(pod)\n        return []"),
    ),
)
