"""Nobody is told that a member is gone: its place counts, and the others wait."""

KILLED_BY = "one-is-gone"
CAUSE = "keeps-waiting"
CHANGES = (
    (
        (
            "        gang = self.goes.pop(pod, None)\n"
            "        if pod in self.waits:\n"
            "            gang, _ = self.waits.pop(pod)\n"
            "        return self.send_back(gang)"
        ),
        "        return []",
    ),
)
