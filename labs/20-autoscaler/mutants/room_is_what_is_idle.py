"""Use instead of requests: Pods are sent where the scheduler will not let them in."""

KILLED_BY = "finds-a-place"
CAUSE = "use"
CHANGES = (
    (
        '    free = [other["cpu"] - sum(pod["cpu"] for pod in other["pods"]) for other in others]',
        '    free = [other["cpu"] - sum(pod["uses"] for pod in other["pods"]) for other in others]',
    ),
    (
        "        for index, other in enumerate(others):\n"
        '            if pod["needs"] in ("", other["has"]) and pod["cpu"] <= free[index]:\n'
        '                free[index] -= pod["cpu"]',
        "        for index, other in enumerate(others):\n"
        '            if pod["needs"] in ("", other["has"]) and pod["uses"] <= free[index]:\n'
        '                free[index] -= pod["uses"]',
    ),
)
