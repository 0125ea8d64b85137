"""Only the skew counts Pods that are terminating: a count of its own, next to a right one."""

KILLED_BY = "keeps-the-skew"
CAUSE = "terminating"
CHANGES = (
    (
        "    least = min",
        "    for pod in pods:\n"
        '        if pod["terminating"]:\n'
        '            at = nodes[pod["node"]].get("zone")\n'
        '            counts[at] = counts.get(at, 0) + (pod["app"] == "web")\n'
        "    counts.pop(None, None)\n"
        "    least = min",
    ),
)
