"""Every question counts, not every Pod: who is asked twice is two."""

KILLED_BY = "counts-once"
CAUSE = "counts-twice"
CHANGES = (
    (
        "        self.goes = {}  # pod -> its gang\n",
        ("        self.goes = {}  # pod -> its gang\n        self.asked = {}\n"),
    ),
    (
        ("        self.waits.setdefault(pod, (gang, now_ms))\n        if self.count(gang) < need:"),
        (
            "        self.waits.setdefault(pod, (gang, now_ms))\n"
            "        self.asked[gang] = self.asked.get(gang, 0) + 1\n"
            "        if max(self.asked[gang], self.count(gang)) < need:"
        ),
    ),
)
