"""BestEffort Pods go before all others, and only then the three questions are asked."""

KILLED_BY = "ranks-by-three-questions"
CAUSE = "class-first"
CHANGES = (
    (
        "    return sorted(pods, key=key)",
        "    return sorted(\n"
        "        pods,\n"
        '        key=lambda pod: (pod["request"] > 0, pod["priority"], 0 if pod["used"] is None else key(pod)[-1]),\n'
        "    )",
    ),
)
