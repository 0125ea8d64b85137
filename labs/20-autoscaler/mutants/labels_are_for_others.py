"""A Pod that needs an SSD is counted for every group; the node comes, and the Pod still waits."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "needs"
CHANGES = (
    (
        '        if pod["needs"] not in ("", group["has"]):\n            continue\n',
        "",
    ),
)
