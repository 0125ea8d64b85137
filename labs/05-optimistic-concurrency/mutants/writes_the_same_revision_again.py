"""The read is before the loop: the second try is the first one again, and so is its answer. The loop never ends."""

KILLED_BY = "computes-from-the-newest"
CAUSE = "stale"
CHANGES = (
    (
        "    while True:\n"
        "        value, revision = await store.get(key)\n"
        "        new = change(value)\n"
        "        if new == value:\n"
        "            return value\n"
        "        try:\n"
        "            await store.put",
        "    value, revision = await store.get(key)\n"
        "    while True:\n"
        "        new = change(value)\n"
        "        if new == value:\n"
        "            return value\n"
        "        try:\n"
        "            await store.put",
    ),
)
