"""What is sent back keeps its place in the plugin's list: it waits for ever, and counts."""

KILLED_BY = "waits-end"
CAUSE = "leak"
CHANGES = (
    (
        ("        for pod in back:\n            del self.waits[pod]\n        return back"),
        "        return back",
    ),
)
