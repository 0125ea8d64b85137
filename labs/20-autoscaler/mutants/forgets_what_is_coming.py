"""Does not count the machines that boot: in every round it buys them once more."""

KILLED_BY = "buys-what-is-missing"
CAUSE = "coming"
CHANGES = (
    (
        'for pod in node["pods"]) for node in nodes]\n    left',
        'for pod in node["pods"]) - 99 * node["coming"] for node in nodes]\n    left',
    ),
)
