"""Filter always says yes, and Score is to do the rest: a hot node is taken when it is the only one."""

KILLED_BY = "hot-nodes-are-out"
CAUSE = "hot-accepted"
CHANGES = (
    (
        "        if celsius > self.most:",
        "        if False:",
    ),
)
