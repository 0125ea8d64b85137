"""`shut_down` throws away what waits: changes that were seen are never acted on."""

KILLED_BY = "shuts-down"
CAUSE = "dropped"
CHANGES = (
    (
        "        self.shutting_down = True",
        "        self.shutting_down = True\n        self.queue.clear()",
    ),
)
