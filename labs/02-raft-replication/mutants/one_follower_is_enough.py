"""Somebody has it, so it is committed."""

KILLED_BY = "commits-by-majority"
CAUSE = "without-a-majority"
CHANGES = (
    (
        "have[len(have) // 2]",
        "have[min(1, len(have) - 1)]",
    ),
)
