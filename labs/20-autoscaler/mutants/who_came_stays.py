"""Forgets the Pods that moved here in thought: nobody moves them on."""

KILLED_BY = "empties-nodes-together"
CAUSE = "stay"
CHANGES = (
    (
        '        mine = pods_of[node["name"]]\n',
        '        mine = node["pods"]\n',
    ),
)
