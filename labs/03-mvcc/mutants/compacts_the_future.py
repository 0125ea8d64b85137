"""A revision that is not made yet can be compacted."""

KILLED_BY = "refuses-the-future"
CAUSE = "answers-the-future"
CHANGES = (
    (
        "        if revision > self.revision:\n            raise ValueError(FUTURE)\n        self.compact",
        "        self.compact",
    ),
)
