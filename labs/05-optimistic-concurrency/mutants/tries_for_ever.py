"""A loop of its own, without end and without a pause: two such clients can keep an object busy for hours."""

KILLED_BY = "fields-arrive"
CAUSE = "for-ever"
CHANGES = (
    (
        "    return await retry_on_conflict(attempt, sleep)\n",
        "    while True:\n"
        "        try:\n"
        "            return await attempt()\n"
        "        except ConflictError:\n"
        "            continue\n",
    ),
)
