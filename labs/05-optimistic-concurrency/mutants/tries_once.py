"""The conflict goes to the caller, who asked for an update that is guaranteed."""

KILLED_BY = "nothing-is-overwritten"
CAUSE = "gave-up"
CHANGES = (
    (
        "            continue  # somebody was faster: again, with what is there now\n",
        "            raise\n",
    ),
)
