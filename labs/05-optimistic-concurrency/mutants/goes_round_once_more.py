"""Nothing ends the loop after the write: every change counts twice, three times, for ever."""

KILLED_BY = "nothing-is-overwritten"
CAUSE = "twice"
CHANGES = (
    (
        "        return new\n",
        "        # written\n",
    ),
)
