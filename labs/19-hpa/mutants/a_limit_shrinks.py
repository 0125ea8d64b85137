"""A limit below the present count takes Pods away on the way up."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "shrinks"
CHANGES = (
    (
        "    return min(max(allowed, current), wanted, most)\n",
        "    return min(allowed, wanted, most)\n",
    ),
)
