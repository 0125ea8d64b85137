"""Each Node is a domain: zones with many Nodes look empty."""

KILLED_BY = "counts-by-domain"
CAUSE = "by-node"
CHANGES = (
    (
        "{labels[key]: 0 for labels in nodes.values() if key in labels}",
        "{name: 0 for name in nodes}",
    ),
    (
        "counts[labels[key]] += 1",
        'counts[pod["node"]] += 1',
    ),
)
