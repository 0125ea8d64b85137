"""The maximum is forgotten."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "ignores-most"
CHANGES = (
    (
        "    return min(max(allowed, current), wanted, most)\n",
        "    return min(max(allowed, current), wanted)\n",
    ),
)
