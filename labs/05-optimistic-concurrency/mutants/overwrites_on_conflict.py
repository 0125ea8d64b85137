"""After a conflict it fetches the new revision and writes the value it had: the other change is buried.

The number protects a write only together with the read it came from. Code reviews miss this one: there is a read after
the conflict, and there is a condition on the write.
"""

KILLED_BY = "nothing-is-overwritten"
CAUSE = "overwritten"
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
        "    new = change(value)\n"
        "    if new == value:\n"
        "        return value\n"
        "    while True:\n"
        "        try:\n"
        "            await store.put",
    ),
    (
        "            continue  # somebody was faster: again, with what is there now\n",
        "            _, revision = await store.get(key)\n            continue\n",
    ),
)
