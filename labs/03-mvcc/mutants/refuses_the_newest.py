"""A read at the newest revision is refused."""

KILLED_BY = "refuses-the-future"
CAUSE = "refuses"
CHANGES = (
    (
        "        if revision > self.revision:\n            raise ValueError(FUTURE)\n        if revision and",
        "        if revision >= self.revision:\n            raise ValueError(FUTURE)\n        if revision and",
    ),
)
