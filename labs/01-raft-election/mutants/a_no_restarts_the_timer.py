"""Any request for votes starts the silence anew, also one that is refused.

A node with an old log, which cannot win, keeps those quiet that could.
"""

KILLED_BY = "refusals-do-not-count"
CAUSE = "kept-quiet"
CHANGES = (
    (
        "        is_new_enough =",
        "        self.restart_timer()\n        is_new_enough =",
    ),
)
