"""Without a sample the answer is the present count: nobody hears of it."""

KILLED_BY = "counts-the-missing"
CAUSE = "blind-current"
CHANGES = (
    (
        "    if not usages:\n        return None\n",
        "    if not usages:\n        return missing + starting\n",
    ),
)
