"""One of the labels is enough."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "only-any"
CHANGES = (
    (
        '    return all(labels.get(key) == value for key, value in hook["only"].items())',
        '    return not hook["only"] or any(labels.get(key) == value for key, value in hook["only"].items())',
    ),
)
