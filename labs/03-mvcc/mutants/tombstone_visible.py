"""A read returns the tombstone as if it were a value."""

KILLED_BY = "a-delete-ends-a-life"
CAUSE = "tombstone-visible"
CHANGES = (
    (
        "                return kv if kv.version else None\n",
        "                return kv\n",
    ),
)
