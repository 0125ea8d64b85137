"""The conflict is caught and forgotten: the caller hears that the update is done, and nothing was written."""

KILLED_BY = "nothing-is-overwritten"
CAUSE = "not-written"
CHANGES = (
    (
        "            continue  # somebody was faster: again, with what is there now\n",
        "            return new\n",
    ),
)
