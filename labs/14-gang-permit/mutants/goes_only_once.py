"""A Pod that was let go is told to wait when it is asked for again."""

KILLED_BY = "counts-once"
CAUSE = "let-go"
CHANGES = (
    (
        "            return [pod]\n",
        "            return []\n",
    ),
)
