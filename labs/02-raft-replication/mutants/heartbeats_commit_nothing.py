"""It looks at leader_commit only when there are entries: the last entry is committed when the next one comes."""

KILLED_BY = "commits-what-was-compared"
CAUSE = "waits"
CHANGES = (
    (
        "        self.commit_index = max(",
        "        if entries:\n            self.commit_index = max(",
    ),
)
