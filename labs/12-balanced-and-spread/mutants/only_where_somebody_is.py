"""Domains without a Pod are missing from the count: an empty zone is never the emptiest, and stays empty for good."""

KILLED_BY = "counts-by-domain"
CAUSE = "missing-domain"
CHANGES = (
    (
        "{labels[key]: 0 for labels in nodes.values() if key in labels}",
        "{}",
    ),
    (
        "counts[labels[key]] += 1",
        "counts[labels[key]] = counts.get(labels[key], 0) + 1",
    ),
)
