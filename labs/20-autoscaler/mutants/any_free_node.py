"""Room on a node without the label counts."""

KILLED_BY = "buys-what-is-missing"
CAUSE = "labels"
CHANGES = (
    (
        '            if pod["needs"] in ("", node["has"]) and pod["cpu"] <= free[index]:',
        '            if pod["cpu"] <= free[index]:',
    ),
)
