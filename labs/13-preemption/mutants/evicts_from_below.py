"""One after the other from the least important up, until there is room: bystanders are killed on the way."""

KILLED_BY = "evicts-no-more-than-needed"
CAUSE = "from-below"
CHANGES = (
    (
        "    victims, violations = [], 0\n"
        "    for one in breaking + others:\n"
        '        if one["cpu"] <= room:\n'
        '            room -= one["cpu"]\n'
        "            continue\n"
        "        victims.append(one)\n"
        "        if one in breaking:\n"
        "            violations += 1\n",
        "    order = by_importance(lower)\n"
        '    used = sum(one["cpu"] for one in pods)\n'
        "    victims, violations = [], 0\n"
        '    while order and used + pod["cpu"] > cpu:\n'
        "        victims.append(order.pop())\n"
        '        used -= victims[-1]["cpu"]\n',
    ),
)
