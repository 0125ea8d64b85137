"""commit_index is what the message says, less than before if the message is old."""

KILLED_BY = "commits-what-was-compared"
CAUSE = "goes-back"
CHANGES = (
    (
        "max(self.commit_index, min(leader_commit, last_compared))",
        "min(leader_commit, last_compared)",
    ),
)
