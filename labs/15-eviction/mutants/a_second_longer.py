"""Exactly a period later it is still reported."""

KILLED_BY = "keeps-the-pressure"
CAUSE = "period-inclusive"
CHANGES = (
    (
        "now - self.seen < self.period",
        "now - self.seen <= self.period",
    ),
)
