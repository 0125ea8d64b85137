"""A resource that the Node does not have counts as full: Nodes without a GPU lose points for every Pod."""

KILLED_BY = "prefers-the-empty"
CAUSE = "absent"
CHANGES = (
    (
        "            continue\n",
        "            weight_sum += weight\n            continue\n",
    ),
)
