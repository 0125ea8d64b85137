"""It never tells the others what is committed."""

KILLED_BY = "sends-what-is-missing"
CAUSE = "other-commit"
CHANGES = (
    (
        "entries, self.log.commit_index",
        "entries, 0",
    ),
)
