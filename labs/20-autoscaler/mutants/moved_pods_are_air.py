"""Pods that moved take no room where they went."""

KILLED_BY = "empties-nodes-together"
CAUSE = "no-room"
CHANGES = (
    (
        "        for pod in mine:\n"
        '            if pod["name"] in found:\n'
        '                pods_of[found[pod["name"]]].append(pod)\n',
        "",
    ),
)
