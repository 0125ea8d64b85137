"""It writes also what is there already: a revision, an event and a sync everywhere, for nothing."""

KILLED_BY = "no-needless-write"
CAUSE = "needless"
CHANGES = (
    (
        "        if new == value:\n            return value\n",
        "",
    ),
)
