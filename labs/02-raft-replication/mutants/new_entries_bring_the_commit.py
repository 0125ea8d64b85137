"""With a message that brings entries it takes the leader's commit index as it is."""

KILLED_BY = "commits-what-was-compared"
CAUSE = "beyond-its-log"
CHANGES = (
    (
        "max(self.commit_index, min(leader_commit, last_compared))",
        "max(self.commit_index, leader_commit if entries else min(leader_commit, last_compared))",
    ),
)
