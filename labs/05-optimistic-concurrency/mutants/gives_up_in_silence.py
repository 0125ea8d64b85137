"""After the last conflict it logs a line and returns. Whoever called believes that the field is set."""

KILLED_BY = "fields-arrive"
CAUSE = "not-written"
CHANGES = (
    (
        "    return await retry_on_conflict(attempt, sleep)\n",
        "    try:\n"
        "        return await retry_on_conflict(attempt, sleep)\n"
        "    except ConflictError:\n"
        "        return None\n",
    ),
)
