"""Each node by itself: two half-empty ones go, each for the sake of the other."""

KILLED_BY = "empties-nodes-together"
CAUSE = "each-alone"
CHANGES = (
    (
        'if other["name"] not in (node["name"], *gone)',
        'if other["name"] != node["name"]',
    ),
    (
        "        for pod in mine:\n"
        '            if pod["name"] in found:\n'
        '                pods_of[found[pod["name"]]].append(pod)\n',
        "",
    ),
)
