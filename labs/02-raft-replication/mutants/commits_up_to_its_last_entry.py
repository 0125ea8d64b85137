"""It commits what the leader has committed, up to the end of its own log.

That end may be entries of a dead leader which nobody has compared.
"""

KILLED_BY = "commits-what-was-compared"
CAUSE = "beyond-what-was-compared"
CHANGES = (
    (
        "min(leader_commit, last_compared)",
        "min(leader_commit, len(self.entries))",
    ),
)
