"""The emptiest domain is looked for among those that have a Pod."""

KILLED_BY = "keeps-the-skew"
CAUSE = "missing-domain"
CHANGES = (
    (
        "min(counts.values()) if",
        "min([count for count in counts.values() if count], default=0) if",
    ),
)
