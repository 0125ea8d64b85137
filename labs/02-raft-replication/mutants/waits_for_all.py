"""It commits what everybody has: one node that is down stops the group."""

KILLED_BY = "commits-by-majority"
CAUSE = "waits"
CHANGES = (
    (
        "have[len(have) // 2]",
        "have[-1]",
    ),
)
