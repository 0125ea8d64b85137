"""The attempt's result is dropped: the caller goes on with None, or with the object it had before."""

KILLED_BY = "returns-the-result"
CAUSE = "lost-result"
CHANGES = (
    (
        "            return await attempt()\n",
        "            await attempt()\n            return None\n",
    ),
)
