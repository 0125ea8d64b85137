"""A node without a place for its Pods ends the round."""

KILLED_BY = "empties-nodes-together"
CAUSE = "stops"
CHANGES = (
    (
        "        if found is None:\n            continue",
        "        if found is None:\n            break",
    ),
)
