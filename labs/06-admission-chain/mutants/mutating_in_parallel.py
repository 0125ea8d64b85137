"""The time is that of the slowest mutating webhook."""

KILLED_BY = "one-after-the-other"
CAUSE = "slowest"
CHANGES = (
    (
        "            ms += took\n",
        "            ms = max(ms, took)\n",
    ),
)
