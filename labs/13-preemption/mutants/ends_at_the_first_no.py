"""A Node that is no candidate ends the search."""

KILLED_BY = "makes-room"
CAUSE = "gives-up"
CHANGES = (
    (
        "        if found is not None:\n",
        "        if found is None:\n            return None\n        if found is not None:\n",
    ),
)
