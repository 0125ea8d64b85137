"""A Pod that was let go is counted anew when it is asked for again, and waits for those that are gone."""

KILLED_BY = "one-is-gone"
CAUSE = "let-go"
CHANGES = (
    (
        "        if pod in self.goes:\n            return [pod]\n",
        "",
    ),
)
