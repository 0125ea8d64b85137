"""A read at a revision that is not made yet returns what is there now."""

KILLED_BY = "refuses-the-future"
CAUSE = "answers-the-future"
CHANGES = (
    (
        "        if revision > self.revision:\n            raise ValueError(FUTURE)\n        if revision and",
        "        if revision and",
    ),
)
