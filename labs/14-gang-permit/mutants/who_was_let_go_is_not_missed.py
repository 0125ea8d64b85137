"""Nobody is sent back when a Pod is gone that was let go, as if nobody could wait for it."""

KILLED_BY = "one-is-gone"
CAUSE = "keeps-waiting"
CHANGES = (
    (
        "        gang = self.goes.pop(pod, None)\n",
        "        if self.goes.pop(pod, None):\n            return []\n        gang = None\n",
    ),
)
