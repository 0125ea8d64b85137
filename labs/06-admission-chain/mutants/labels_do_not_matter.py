"""The labels are not looked at."""

KILLED_BY = "knows-whom-to-ask"
CAUSE = "only"
CHANGES = (
    (
        '    return all(labels.get(key) == value for key, value in hook["only"].items())',
        "    return labels is not None",
    ),
)
