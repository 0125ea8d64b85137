"""The caller gets the state from before its own update."""

KILLED_BY = "writes-what-it-computed"
CAUSE = "other-result"
CHANGES = (
    (
        "        return new\n",
        "        return value\n",
    ),
)
