"""Compaction takes everything before its revision, also what is still the newest of its key."""

KILLED_BY = "compaction-changes-no-answer"
CAUSE = "drops-the-live-revision"
CHANGES = (
    (
        "            needed = [one for one in life if one >= before or (seen and one == seen.mod_revision)]\n",
        "            needed = [one for one in life if one >= before]\n",
    ),
)
