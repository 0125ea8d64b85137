"""Where more run than the maximum they stay."""

KILLED_BY = "keeps-to-the-rate"
CAUSE = "too-many-stay"
CHANGES = (
    (
        "    return min(max(allowed, current), wanted, most)\n",
        "    return min(max(min(allowed, most), current), wanted)\n",
    ),
)
