"""It goes as far as the policy allows, whether that is wanted or not."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "ignores-wanted"
CHANGES = (
    (
        "    return min(max(allowed, current), wanted, most)\n",
        "    return min(max(allowed, current), most)\n",
    ),
)
