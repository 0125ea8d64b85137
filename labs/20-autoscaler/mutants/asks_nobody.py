"""Does not ask who must stay."""

KILLED_BY = "empties-nodes-together"
CAUSE = "blockers"
CHANGES = (
    (
        "        if any(blocks(pod) for pod in mine):\n            continue\n",
        "",
    ),
)
