"""Nodes without the label form a domain of their own."""

KILLED_BY = "counts-by-domain"
CAUSE = "unlabelled"
CHANGES = (
    (
        "{labels[key]: 0 for labels in nodes.values() if key in labels}",
        '{labels.get(key, ""): 0 for labels in nodes.values()}',
    ),
    (
        " and key in labels:\n            counts[labels[key]] += 1",
        ':\n            counts[labels.get(key, "")] += 1',
    ),
)
