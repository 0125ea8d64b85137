"""The seconds of the caller are changed."""

KILLED_BY = "waits-out-the-grace"
CAUSE = "changes"
CHANGES = (
    (
        "    fresh = {name: since.get(name, now) for name in names}\n",
        "    for name in list(since):\n"
        "        if name not in names:\n"
        "            del since[name]\n"
        "    for name in names:\n"
        "        since.setdefault(name, now)\n"
        "    fresh = since\n",
    ),
)
