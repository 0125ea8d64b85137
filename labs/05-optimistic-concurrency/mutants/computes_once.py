"""It reads again, and does not compute again: what it writes was made from a value that is gone."""

KILLED_BY = "computes-from-the-newest"
CAUSE = "old-value"
CHANGES = (
    (
        "    while True:\n"
        "        value, revision = await store.get(key)\n"
        "        new = change(value)\n"
        "        if new == value:\n"
        "            return value\n"
        "        try:\n"
        "            await store.put",
        "    new = None\n"
        "    while True:\n"
        "        value, revision = await store.get(key)\n"
        "        new = change(value) if new is None else new\n"
        "        if new == value:\n"
        "            return value\n"
        "        try:\n"
        "            await store.put",
    ),
)
