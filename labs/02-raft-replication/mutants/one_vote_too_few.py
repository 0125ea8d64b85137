"""It takes the wrong one of the sorted list: half of a group of four is a majority for it."""

KILLED_BY = "commits-by-majority"
CAUSE = "without-a-majority"
CHANGES = (
    (
        "have[len(have) // 2]",
        "have[(len(have) - 1) // 2]",
    ),
)
