"""match is what the last answer said, also when that answer is old."""

KILLED_BY = "learns-from-answers"
CAUSE = "back-behind-what-it-has"
CHANGES = (
    (
        "self.match_index[other] = max(match, index)",
        "self.match_index[other] = index",
    ),
)
