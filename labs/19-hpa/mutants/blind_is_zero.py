"""Without a sample the answer is 0."""

KILLED_BY = "counts-the-missing"
CAUSE = "blind-zero"
CHANGES = (
    (
        "    if not usages:\n        return None\n",
        "    if not usages:\n        return 0\n",
    ),
)
