"""A node goes although its Pods have no place; the next round buys it again."""

KILLED_BY = "empties-nodes-together"
CAUSE = "places"
CHANGES = (
    (
        "        if found is None:\n"
        "            continue\n"
        "        for pod in mine:\n"
        '            if pod["name"] in found:',
        '        for pod in mine:\n            if found and pod["name"] in found:',
    ),
)
