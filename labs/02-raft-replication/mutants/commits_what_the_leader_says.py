"""It takes the leader's commit index as it is, also for entries that it has not got yet."""

KILLED_BY = "commits-what-was-compared"
CAUSE = "beyond-what-was-compared"
CHANGES = (
    (
        "min(leader_commit, last_compared)",
        "leader_commit",
    ),
)
